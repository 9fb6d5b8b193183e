import { type FormEvent, type ReactElement, useState } from "react";
import { namesOf } from "../../model/action.ts";
import { extract } from "../../model/actions.ts";
import { type PageState, studio } from "../../state/store.ts";
import { ui } from "../ui.ts";
import { useTexts, useWords } from "../words.ts";
import { Close, Dialog } from "./Dialog.tsx";

export function Extract({ page }: { page: PageState }): ReactElement {
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
