import type { ReactElement } from "react";
import { type PageState, studio } from "../../state/store.ts";
import { useStrings } from "../strings.ts";
import { Dialog } from "./Dialog.tsx";

export function FilePermission({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const files = Object.entries(page.run.needs_files ?? {});
  return (
    <Dialog
      title={t.filePermissionTitle}
      onClose={() => studio.refuseFiles(page.page)}
      actions={
        <>
          <button type="button" className="button" onClick={() => studio.refuseFiles(page.page)}>
            {t.cancel}
          </button>
          <button type="button" className="button main" onClick={() => studio.allowFiles(page.page)}>
            {t.allow}
          </button>
        </>
      }
    >
      <p>{t.filePermissionAbout}</p>
      <ul>
        {files.map(([block, how]) => (
          <li key={block}>
            <span className="mono">{block}</span> {how === "writes" ? t.writesFiles : t.readsFiles}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
