import { type ReactElement, useState } from "react";
import { type PageState, studio } from "../../state/store.ts";
import { fileName } from "../active-page.ts";
import { formatBytes } from "../canvas/thumbnails.ts";
import {
  download,
  hasFiles,
  pageHtml,
  pagePng,
  pageSvg,
  pageText,
  pageWithArrays,
} from "../export/page-export.ts";
import { useSettings } from "../settings.ts";
import { Icon } from "../shell/icons.tsx";
import { useCoreStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";

export function ExportDialog({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
  const { language } = useSettings();
  const [inside, setInside] = useState(true);
  const name = fileName(page);
  const pageInside = async () => (inside ? pageWithArrays(page) : undefined);
  const script = (to: "python" | "tensorflow") => studio.requests.exportScript(page.page, to);
  const ways: [
    kind: string,
    about: string,
    ending: string,
    type: string,
    make: () => Promise<Blob | string>,
  ][] = [
    ["PNG", t.exports.png, ".png", "image/png", async () => pagePng(page, await pageInside())],
    ["SVG", t.exports.svg, ".svg", "image/svg+xml", async () => pageSvg(page, await pageInside())],
    ["Python", t.exports.python, ".py", "text/x-python", () => script("python")],
    ["TensorFlow", t.exports.tensorflow, "_tensorflow.py", "text/x-python", () => script("tensorflow")],
    [
      "HTML",
      t.exports.html,
      ".html",
      "text/html",
      async () => pageHtml(page, await pageWithArrays(page), language),
    ],
    ["JSON", t.exports.json, ".page.json", "application/json", () => pageWithArrays(page)],
  ];
  return (
    <Dialog title={core.commands.export} onClose={ui.closeDialog} actions={<CloseButton />}>
      <ul className="file-list">
        {ways.map(([kind, about, ending, type, make]) => (
          <li key={kind}>
            <button
              type="button"
              onClick={() => {
                make().then(
                  (made) => download(`${name}${ending}`, made, type),
                  (error: Error) => studio.notice("error", error.message),
                );
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
        {t.pageInside(formatBytes(pageText(page).length), hasFiles(page.document))}
      </label>
    </Dialog>
  );
}
