import { type ReactElement, useMemo } from "react";
import { useStudio } from "../../state/store.ts";
import { useOps } from "../active-page.ts";
import { Icon } from "../shell/icons.tsx";
import { useStrings } from "../strings.ts";
import { ui } from "../ui.ts";

/** The drag-and-drop type of an op. */
export const OP_DRAG_TYPE = "application/x-backblocks-op";

/** The palette: ops by group. A click adds a block, a drag places it. */
export function Palette(): ReactElement {
  const t = useStrings();
  const ops = useOps();
  const ready = useStudio((state) => state.ready);
  const groups = useMemo(() => [...ops.groups()], [ops]);
  return (
    <div className="palette">
      <div className="palette-search">
        <button type="button" className="search-button" onClick={() => ui.openSearch()}>
          <Icon name="search" />
          <span>{t.findBlock}</span>
          <kbd>/</kbd>
        </button>
      </div>
      <div className="palette-list">
        {!ready && <p className="empty">{t.loading}</p>}
        {groups.map(([group, members]) => (
          <details className="palette-group" key={group} open={group === "nn"}>
            <summary>
              {t.groupName(group, members[0]?.group_title ?? group)}
              <span className="count">{members.length}</span>
            </summary>
            {members.map((op) => (
              <button
                key={op.name}
                type="button"
                className="palette-op"
                title={op.summary}
                draggable
                onDragStart={(event) => event.dataTransfer.setData(OP_DRAG_TYPE, op.name)}
                onClick={() => ui.addOp(op.name)}
                onFocus={() => ui.showDocs(op.name)}
              >
                {op.name}
              </button>
            ))}
          </details>
        ))}
      </div>
    </div>
  );
}
