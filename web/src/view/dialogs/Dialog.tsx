import { type ReactElement, type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { useStrings } from "../strings.ts";
import { ui } from "../ui.ts";

interface Props {
  title: string;
  children: ReactNode;
  /** Buttons, the main one last. */
  actions?: ReactNode;
  wide?: boolean;
  onClose(): void;
}

/** A modal dialog. The browser traps the focus, and restores it afterwards. */
export function Dialog({ title, children, actions, wide, onClose }: Props): ReactElement {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Closed before it is unmounted, so that the browser restores the focus.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    // The focused element may be at the end of the text.
    if (dialog) dialog.scrollTop = 0;
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className={wide ? "dialog wide" : "dialog"}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div className="dialog-body">
        <h2 id={heading}>{title}</h2>
        <div className="dialog-content">{children}</div>
        {actions !== undefined && <div className="dialog-actions">{actions}</div>}
      </div>
    </dialog>
  );
}

export function CloseButton(): ReactElement {
  const t = useStrings();
  return (
    <button type="button" className="button" onClick={ui.closeDialog}>
      {t.close}
    </button>
  );
}
