import { type FormEvent, type ReactElement, useState } from "react";
import { namesOf } from "../../model/action.ts";
import { addGradients, extract, usePage as pageAsBlock } from "../../model/actions.ts";
import type { OutputRef } from "../../model/document.ts";
import { keyOf } from "../../model/graph.ts";
import { stringifyExact } from "../../model/numbers.ts";
import { type CommandGroup, commands, keysText } from "../../state/keys.ts";
import { type PageState, studio, useStudio } from "../../state/store.ts";
import { shownBytes } from "../canvas/pictures.ts";
import { asHtml, asPng, download, pageText, svgText } from "../export/picture.ts";
import { act, usePage } from "../page.ts";
import { change, type Settings, useSettings } from "../settings.ts";
import { Icon } from "../shell/icons.tsx";
import { ui, useUi } from "../ui.ts";
import { useTexts, useWords } from "../words.ts";
import { Choices } from "./Choices.tsx";
import { ConnectDialog } from "./ConnectDialog.tsx";
import { Dialog } from "./Dialog.tsx";

/** The dialog that was asked for, or that the page needs an answer to. */
export function Dialogs(): ReactElement | null {
  const dialog = useUi((state) => state.dialog);
  const page = usePage<PageState | null>((each) => each, null);
  if (page?.saveRefused) return <SaveRefused page={page} />;
  if (page && Object.keys(page.run.needs_files ?? {}).length > 0) return <FilesAsked page={page} />;
  switch (dialog?.kind) {
    case undefined:
      return null;
    case "help":
      return <Help />;
    case "settings":
      return <SettingsDialog />;
    case "about":
      return <About />;
    case "open":
      return <OpenFile title="open" onFile={(path) => void ui.openPage({ path })} />;
    case "use page":
      return (
        page && (
          <OpenFile
            title="use page"
            onFile={(path) => act(pageAsBlock(page.document, path, ui.canvas?.centre() ?? { x: 0, y: 0 }))}
          />
        )
      );
    case "versions":
      return page && <Versions page={page} />;
    case "export":
      return page && <ExportDialog page={page} />;
    case "save as":
      return page && <SaveAs page={page} />;
    case "extract":
      return page && <Extract page={page} />;
    case "connect":
      return page && <ConnectDialog key={dialog.block} page={page} block={dialog.block} end={dialog.end} />;
    case "gradients":
      return page && <Gradients page={page} ys={dialog.ys} />;
  }
}

function Close(): ReactElement {
  const w = useWords();
  return (
    <button type="button" className="button" onClick={ui.closeDialog}>
      {w.close}
    </button>
  );
}

const GROUPS: CommandGroup[] = ["edit", "select", "arrange", "run", "page", "view"];

function Help(): ReactElement {
  const w = useWords();
  const texts = useTexts();
  const all = [...commands.values()];
  return (
    <Dialog title={w.keys} wide onClose={ui.closeDialog} actions={<Close />}>
      <div className="keys-table">
        <section>
          <h3>{w.onCanvas}</h3>
          {w.canvasKeys.map(([keys, what]) => (
            <div key={keys}>
              <span>{what}</span>
              <kbd>{keys}</kbd>
            </div>
          ))}
        </section>
        {GROUPS.map((group) => (
          <section key={group}>
            <h3>{w.commandGroups[group]}</h3>
            {all
              .filter((command) => command.group === group && command.keys.length > 0)
              .map(({ id, keys }) => (
                <div key={id}>
                  <span>{texts.commands[id]}</span>
                  <span>
                    {keys.slice(0, 2).map((each) => (
                      <kbd key={each}>{keysText(each)}</kbd>
                    ))}
                  </span>
                </div>
              ))}
          </section>
        ))}
      </div>
    </Dialog>
  );
}

function SettingsDialog(): ReactElement {
  const w = useWords();
  const settings = useSettings();
  const choose = <Name extends "theme" | "language" | "wheel">(
    name: Name,
    label: string,
    options: readonly (readonly [Settings[Name], string])[],
  ) => (
    <>
      <label htmlFor={`setting-${name}`}>{label}</label>
      <select
        id={`setting-${name}`}
        className="field"
        value={settings[name]}
        onChange={(event) => change({ [name]: event.target.value })}
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </>
  );
  const flag = (name: "spotlight" | "minimap" | "rerun", label: string) => (
    <>
      <label htmlFor={`setting-${name}`}>{label}</label>
      <input
        id={`setting-${name}`}
        type="checkbox"
        className="check"
        checked={settings[name]}
        onChange={(event) => change({ [name]: event.target.checked })}
      />
    </>
  );
  return (
    <Dialog title={w.settings} onClose={ui.closeDialog} actions={<Close />}>
      <div className="rows">
        {choose("language", w.language, [
          ["en", "English"],
          ["ko", "한국어"],
        ])}
        {choose("theme", w.theme, [
          ["system", w.themes.system],
          ["light", w.themes.light],
          ["dark", w.themes.dark],
          ["contrast", w.themes.contrast],
        ])}
        {choose("wheel", w.wheel, [
          ["zoom", w.wheels.zoom],
          ["pan", w.wheels.pan],
        ])}
        {flag("spotlight", w.spotlight)}
        {flag("minimap", w.miniMap)}
        {flag("rerun", w.rerun)}
      </div>
    </Dialog>
  );
}

function About(): ReactElement {
  const w = useWords();
  const welcome = useStudio((state) => state.welcome);
  const ops = useStudio((state) => state.ops.all.length);
  return (
    <Dialog title="backblocks studio" onClose={ui.closeDialog} actions={<Close />}>
      <p>{w.aboutText}</p>
      <div className="rows">
        <span className="label">{w.version}</span>
        <span>{welcome?.version}</span>
        <span className="label">{w.folder}</span>
        <span className="mono">{welcome?.folder}</span>
        <span className="label">{w.ops}</span>
        <span>{ops}</span>
      </div>
    </Dialog>
  );
}

function OpenFile({
  title,
  onFile,
}: {
  title: "open" | "use page";
  onFile(path: string): void;
}): ReactElement {
  const w = useWords();
  const texts = useTexts();
  const files = useStudio((state) => state.files);
  const pages = files.filter((file) => file.path.endsWith(".page.json"));
  return (
    <Dialog title={texts.commands[title]} onClose={ui.closeDialog} actions={<Close />}>
      {pages.length === 0 ? (
        <p className="soft">{w.noFiles}</p>
      ) : (
        <Choices
          label={texts.commands[title]}
          choices={pages.map((file) => ({ id: file.path, name: file.path, detail: shownBytes(file.bytes) }))}
          onChoose={(path) => {
            ui.closeDialog();
            onFile(path);
          }}
        />
      )}
    </Dialog>
  );
}

function Versions({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const texts = useTexts();
  return (
    <Dialog title={texts.commands.versions} onClose={ui.closeDialog} actions={<Close />}>
      <p className="soft">{w.versionsAbout}</p>
      {page.versions === null ? (
        <p>{w.loading}</p>
      ) : page.versions.length === 0 ? (
        <p>{w.noVersions}</p>
      ) : (
        <Choices
          label={texts.commands.versions}
          choices={page.versions.map((version) => ({
            id: version.name,
            name: w.when(new Date(version.saved * 1000)),
            detail: w.blockCount(version.blocks),
          }))}
          onChoose={(name) => {
            studio.revert(page.page, name);
            ui.closeDialog();
          }}
        />
      )}
    </Dialog>
  );
}

function fileName(page: PageState): string {
  const stem =
    page.path.replace(/^.*\//, "").replace(/\.page\.json$/, "") ||
    (page.document.title ?? "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_");
  return stem.replace(/^_+|_+$/g, "") || "page";
}

/** Where each page was to be saved last, for the question whether to overwrite what is there. */
const wantedPaths = new Map<number, string>();

function SaveAs({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const texts = useTexts();
  const [path, setPath] = useState(page.path || `${fileName(page)}.page.json`);
  const wrong = !/^[^/\\].*\.page\.json$/.test(path) || path.split("/").includes("..");
  function save(event: FormEvent) {
    event.preventDefault();
    if (wrong) return;
    wantedPaths.set(page.page, path);
    studio.save(page.page, path);
    ui.closeDialog();
  }
  return (
    <Dialog
      title={texts.commands["save as"]}
      onClose={ui.closeDialog}
      actions={
        <>
          <Close />
          <button type="submit" form="save-as" className="button main" disabled={wrong}>
            {texts.commands.save}
          </button>
        </>
      }
    >
      <form id="save-as" onSubmit={save}>
        <label htmlFor="save-path">{w.pathInFolder}</label>
        <input
          id="save-path"
          className="field mono"
          value={path}
          autoFocus
          aria-invalid={wrong}
          onChange={(event) => setPath(event.target.value)}
        />
        {wrong && <p className="bad small">{w.pathRule}</p>}
      </form>
    </Dialog>
  );
}

function SaveRefused({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const refused = page.saveRefused;
  const done = () => studio.saveRefusalSeen(page.page);
  if (refused === null) return <span />;
  return (
    <Dialog
      title={w.saveRefused[refused.reason]}
      onClose={done}
      actions={
        <>
          <button type="button" className="button" onClick={done}>
            {w.cancel}
          </button>
          <button
            type="button"
            className="button"
            onClick={() => {
              done();
              ui.openDialog({ kind: "save as" });
            }}
          >
            {w.saveElsewhere}
          </button>
          {refused.reason === "changed outside" && (
            <button
              type="button"
              className="button"
              onClick={() => {
                studio.revert(page.page);
                done();
              }}
            >
              {w.takeTheirs}
            </button>
          )}
          {refused.reason !== "failed" && (
            <button
              type="button"
              className="button danger"
              onClick={() =>
                studio.save(
                  page.page,
                  refused.reason === "exists" ? (wantedPaths.get(page.page) ?? "") : "",
                  true,
                )
              }
            >
              {w.overwrite}
            </button>
          )}
        </>
      }
    >
      <p>{refused.text}</p>
    </Dialog>
  );
}

function FilesAsked({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const files = Object.entries(page.run.needs_files ?? {});
  return (
    <Dialog
      title={w.filesAsked}
      onClose={() => studio.control(page.page, "stop")}
      actions={
        <>
          <button type="button" className="button" onClick={() => studio.control(page.page, "stop")}>
            {w.cancel}
          </button>
          <button type="button" className="button main" onClick={() => studio.allowFiles(page.page)}>
            {w.allow}
          </button>
        </>
      }
    >
      <p>{w.filesAskedAbout}</p>
      <ul>
        {files.map(([block, how]) => (
          <li key={block}>
            <span className="mono">{block}</span> {how === "writes" ? w.writesFiles : w.readsFiles}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function Extract({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const texts = useTexts();
  const [path, setPath] = useState("parts/part.page.json");
  const names = namesOf(page.selection, "block");
  async function make(event: FormEvent) {
    event.preventDefault();
    const { part, action } = extract(page.graph, names, path);
    const number = await studio.open();
    const edits = Object.entries(part)
      .filter(([key]) => key !== "format")
      .map(([key, value]) => ({ path: [key], value: value as never }));
    studio.commit(number, edits, { kind: "extract", name: path });
    studio.save(number, path);
    studio.activate(page.page);
    studio.act(page.page, action);
    ui.closeDialog();
  }
  return (
    <Dialog
      title={texts.commands.extract}
      onClose={ui.closeDialog}
      actions={
        <>
          <Close />
          <button type="submit" form="extract" className="button main">
            {w.make}
          </button>
        </>
      }
    >
      <form id="extract" onSubmit={(event) => void make(event)}>
        <p className="soft">{w.extractAbout(names.length)}</p>
        <label htmlFor="extract-path">{w.pathInFolder}</label>
        <input
          id="extract-path"
          className="field mono"
          autoFocus
          value={path}
          onChange={(event) => setPath(event.target.value)}
        />
      </form>
    </Dialog>
  );
}

function Gradients({ page, ys }: { page: PageState; ys: OutputRef[] }): ReactElement {
  const w = useWords();
  const texts = useTexts();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const own = new Set(ys.map((y) => y.block));
  const outputs = [...page.graph.blocks.values()]
    .filter((view) => !own.has(view.name))
    .flatMap((view) => view.outputs);
  const make = () => {
    act(
      addGradients(
        page.graph,
        ys,
        outputs.filter((pin) => chosen.has(keyOf(pin.ref))).map((pin) => pin.ref),
      ),
    );
    ui.closeDialog();
  };
  return (
    <Dialog
      title={texts.commands.gradients}
      onClose={ui.closeDialog}
      actions={
        <>
          <Close />
          <button type="button" className="button main" disabled={chosen.size === 0} onClick={make}>
            {w.add}
          </button>
        </>
      }
    >
      <p>
        {w.gradientsOf} <span className="mono">{ys.map(keyOf).join(", ")}</span> {w.withRespectTo}
      </p>
      <div className="choice-list">
        {outputs.map((pin) => {
          const key = keyOf(pin.ref);
          return (
            <label key={key} className="wire-line section">
              <input
                type="checkbox"
                className="check"
                checked={chosen.has(key)}
                onChange={() => {
                  const next = new Set(chosen);
                  if (!next.delete(key)) next.add(key);
                  setChosen(next);
                }}
              />
              <span className="mono">{key}</span>
            </label>
          );
        })}
      </div>
    </Dialog>
  );
}

function ExportDialog({ page }: { page: PageState }): ReactElement {
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
