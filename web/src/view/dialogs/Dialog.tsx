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

/** A window above everything else. The browser keeps the focus inside it and gives it back afterwards. */
export function Dialog({ title, children, actions, wide, onClose }: Props): ReactElement {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Closed before it is taken away, so that the browser gives the focus back.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    // What has the focus first may be at the end of what is to be read.
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
