import type { ReactElement } from "react";
import { type PageState, studio } from "../../state/store.ts";
import { useWords } from "../words.ts";
import { Dialog } from "./Dialog.tsx";

export function FilePermission({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const files = Object.entries(page.run.needs_files ?? {});
  return (
    <Dialog
      title={w.filesAsked}
      onClose={() => studio.refuseFiles(page.page)}
      actions={
        <>
          <button type="button" className="button" onClick={() => studio.refuseFiles(page.page)}>
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
