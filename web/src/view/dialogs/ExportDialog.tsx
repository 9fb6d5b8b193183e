import { type ReactElement, useState } from "react";
import { stringifyExact } from "../../model/numbers.ts";
import { type PageState, studio } from "../../state/store.ts";
import { shownBytes } from "../canvas/pictures.ts";
import { asHtml, asPng, download, pageText, svgText } from "../export/picture.ts";
import { fileName } from "../page.ts";
import { useSettings } from "../settings.ts";
import { Icon } from "../shell/icons.tsx";
import { ui } from "../ui.ts";
import { useTexts, useWords } from "../words.ts";
import { Close, Dialog } from "./Dialog.tsx";

export function ExportDialog({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const texts = useTexts();
  const { language } = useSettings();
  const [inside, setInside] = useState(true);
  const name = fileName(page);
  const script = async (to: "python" | "tensorflow") => {
    try {
      download(
        `${name}${to === "python" ? "" : "_tensorflow"}.py`,
        await studio.export(page.page, to),
        "text/x-python",
      );
    } catch (error) {
      studio.notice("error", (error as Error).message);
    }
  };
  const ways: [string, string, () => void][] = [
    ["PNG", w.exports.png, () => void asPng(page, inside).then((blob) => download(`${name}.png`, blob))],
    ["SVG", w.exports.svg, () => download(`${name}.svg`, svgText(page, inside), "image/svg+xml")],
    ["Python", w.exports.python, () => void script("python")],
    ["TensorFlow", w.exports.tensorflow, () => void script("tensorflow")],
    ["HTML", w.exports.html, () => download(`${name}.html`, asHtml(page, language), "text/html")],
    [
      "JSON",
      w.exports.json,
      () => download(`${name}.page.json`, stringifyExact(page.document), "application/json"),
    ],
  ];
  return (
    <Dialog title={texts.commands.export} onClose={ui.closeDialog} actions={<Close />}>
      <ul className="file-list">
        {ways.map(([kind, about, run]) => (
          <li key={kind}>
            <button
              type="button"
              onClick={() => {
                run();
                ui.closeDialog();
              }}
            >
              <Icon name="export" />
              <strong>{kind}</strong>
              <span className="soft">{about}</span>
            </button>
          </li>
        ))}
      </ul>
      <label>
        <input type="checkbox" checked={inside} onChange={(event) => setInside(event.target.checked)} />{" "}
        {w.pageInside(shownBytes(pageText(page).length))}
      </label>
    </Dialog>
  );
}
