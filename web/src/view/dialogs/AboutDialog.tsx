import type { ReactElement } from "react";
import { useStudio } from "../../state/store.ts";
import { useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";

export function AboutDialog(): ReactElement {
  const t = useStrings();
  const welcome = useStudio((state) => state.welcome);
  const ops = useStudio((state) => state.ops.all.length);
  return (
    <Dialog title="backblocks studio" onClose={ui.closeDialog} actions={<CloseButton />}>
      <p>{t.aboutText}</p>
      <div className="rows">
        <span className="label">{t.version}</span>
        <span>{welcome?.version}</span>
        <span className="label">{t.folder}</span>
        <span className="mono">{welcome?.folder}</span>
        <span className="label">{t.ops}</span>
        <span>{ops}</span>
      </div>
    </Dialog>
  );
}
