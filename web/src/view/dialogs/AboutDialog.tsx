import type { ReactElement } from "react";
import { useStudio } from "../../state/store.ts";
import { ui } from "../ui.ts";
import { useWords } from "../words.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";

export function AboutDialog(): ReactElement {
  const w = useWords();
  const welcome = useStudio((state) => state.welcome);
  const ops = useStudio((state) => state.ops.all.length);
  return (
    <Dialog title="backblocks studio" onClose={ui.closeDialog} actions={<CloseButton />}>
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
