import { type FormEvent, type ReactElement, useState } from "react";
import { pagePath } from "../../model/names.ts";
import { type PageState, studio } from "../../state/store.ts";
import { fileName } from "../active-page.ts";
import { useCoreStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";
import { PathField } from "./PathField.tsx";

export function SaveAsDialog({ page }: { page: PageState }): ReactElement {
  const core = useCoreStrings();
  const [typed, setTyped] = useState(page.path || `${fileName(page)}.page.json`);
  const path = pagePath(typed);
  function save(event: FormEvent) {
    event.preventDefault();
    if (path === undefined) return;
    studio.save(page.page, path);
    ui.closeDialog();
  }
  return (
    <Dialog
      title={core.commands["save as"]}
      onClose={ui.closeDialog}
      actions={
        <>
          <CloseButton />
          <button type="submit" form="save-as" className="button main" disabled={path === undefined}>
            {core.commands.save}
          </button>
        </>
      }
    >
      <form id="save-as" onSubmit={save}>
        <PathField id="save-path" typed={typed} path={path} onType={setTyped} />
      </form>
    </Dialog>
  );
}

export function SaveRefusedDialog({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const refused = page.saveRefused;
  const done = () => studio.dismissSaveRefusal(page.page);
  if (refused === null) return <span />;
  return (
    <Dialog
      title={t.saveRefused[refused.reason]}
      onClose={done}
      actions={
        <>
          <button type="button" className="button" onClick={done}>
            {t.cancel}
          </button>
          <button
            type="button"
            className="button"
            onClick={() => {
              done();
              ui.openDialog({ kind: "save as" });
            }}
          >
            {t.saveElsewhere}
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
              {t.reloadFromFile}
            </button>
          )}
          {refused.reason !== "failed" && (
            <button
              type="button"
              className="button danger"
              onClick={() => studio.save(page.page, refused.reason === "exists" ? page.saveTarget : "", true)}
            >
              {t.overwrite}
            </button>
          )}
        </>
      }
    >
      <p>{refused.text}</p>
    </Dialog>
  );
}
