import { type FormEvent, type ReactElement, useState } from "react";
import { namesOf } from "../../model/action.ts";
import { extract } from "../../model/actions.ts";
import { pagePath, uniqueName } from "../../model/names.ts";
import { type PageState, studio, useStudio } from "../../state/store.ts";
import { useCoreStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";
import { PathField } from "./PathField.tsx";

export function ExtractDialog({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
  const files = useStudio((state) => state.files);
  const isTaken = (each: string) => files.some((file) => file.path === each);
  const [typed, setTyped] = useState<string | null>(null);
  const free = uniqueName("parts/part", (stem) => isTaken(`${stem}.page.json`));
  const path = typed === null ? `${free}.page.json` : pagePath(typed);
  const fault = path !== undefined && isTaken(path) ? t.saveRefused.exists : undefined;
  const names = namesOf(page.selection, "block");
  async function make(event: FormEvent) {
    event.preventDefault();
    if (path === undefined || fault !== undefined) return;
    const { part, action } = extract(page.graph, names, path);
    const number = await studio.open();
    const edits = Object.entries(part)
      .filter(([key]) => key !== "format")
      .map(([key, value]) => ({ path: [key], value: value as never }));
    studio.commit(number, edits, { kind: "extract", name: path });
    studio.save(number, path);
    studio.activate(page.page);
    studio.dispatch(page.page, action);
    ui.closeDialog();
  }
  return (
    <Dialog
      title={core.commands.extract}
      onClose={ui.closeDialog}
      actions={
        <>
          <CloseButton />
          <button
            type="submit"
            form="extract"
            className="button main"
            disabled={path === undefined || fault !== undefined}
          >
            {t.make}
          </button>
        </>
      }
    >
      <form id="extract" onSubmit={(event) => void make(event)}>
        <p className="soft">{t.extractAbout(names.length)}</p>
        <PathField
          id="extract-path"
          typed={typed ?? path ?? ""}
          path={path}
          fault={fault}
          onType={setTyped}
        />
      </form>
    </Dialog>
  );
}
