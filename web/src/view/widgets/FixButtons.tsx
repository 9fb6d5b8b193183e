import { type ReactElement, useContext } from "react";
import { fixesOf } from "../../model/actions.ts";
import type { Problem } from "../../net/generated.ts";
import { applyFix, fixText } from "../fixing.ts";
import { useStrings } from "../strings.ts";
import { TabIndex } from "./ValidatedField.tsx";

/** A button for each fix of a problem. */
export function FixButtons({ problem }: { problem: Problem }): ReactElement | null {
  const t = useStrings();
  const tabIndex = useContext(TabIndex);
  const fixes = fixesOf([problem]);
  if (fixes.length === 0) return null;
  return (
    <span className="fixes">
      {fixes.map((each) => (
        <button
          key={fixText(each.fix, t)}
          type="button"
          className="button fix"
          tabIndex={tabIndex}
          onClick={() => applyFix(each)}
        >
          {fixText(each.fix, t)}
        </button>
      ))}
    </span>
  );
}
