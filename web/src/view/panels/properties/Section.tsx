import type { ReactElement, ReactNode } from "react";
import { item } from "../../../model/action.ts";
import { ui } from "../../ui.ts";

/** A section of the properties panel. */
export function Section({ title, children }: { title: string; children: ReactNode }): ReactElement {
  return (
    <div className="section">
      <div className="section-title">
        <h2>{title}</h2>
      </div>
      {children}
    </div>
  );
}

/** A link that reveals a block. */
export function BlockLink({ block, children }: { block: string; children: ReactNode }): ReactElement {
  return (
    <button type="button" className="button plain mono" onClick={() => ui.reveal(item("block", block))}>
      {children}
    </button>
  );
}
