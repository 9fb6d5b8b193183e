import type { ReactElement } from "react";
import { useStrings } from "../strings.ts";
import { type Confirmation, ui } from "../ui.ts";
import { Dialog } from "./Dialog.tsx";

/** Asks before something that cannot be undone. */
export function ConfirmDialog({ title, about, action, onConfirm }: Confirmation): ReactElement {
  const t = useStrings();
  return (
    <Dialog
      title={title}
      onClose={ui.closeDialog}
      actions={
        <>
          <button type="button" className="button" onClick={ui.closeDialog}>
            {t.cancel}
          </button>
          <button
            type="button"
            className="button danger"
            onClick={() => {
              ui.closeDialog();
              onConfirm();
            }}
          >
            {action}
          </button>
        </>
      }
    >
      <p>{about}</p>
    </Dialog>
  );
}
