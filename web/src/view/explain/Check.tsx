import { type ReactElement, useEffect, useState } from "react";
import type { CellChecked } from "../../net/generated.ts";
import { studio } from "../../state/store.ts";
import type { Picture } from "./picture.ts";
import { useExplainWords } from "./words.ts";

/** Compares the gradient at the cell with a finite difference, when asked. */
export function Check({
  picture,
  block,
  cell,
}: {
  picture: Picture;
  block: string;
  cell: number[];
}): ReactElement {
  const w = useExplainWords();
  const [checked, setChecked] = useState<CellChecked | string | null>(null);
  const at = cell.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was checked is over at another cell.
  useEffect(() => setChecked(null), [at, block, picture]);
  const check = () => {
    setChecked(w.checking);
    studio.checkCell(picture.page, block, cell).then(setChecked, (error: Error) => setChecked(error.message));
  };
  return (
    <div className="explain-check">
      <button type="button" className="button" onClick={check}>
        {w.check}
      </button>
      {checked !== null && (
        <p role="status">
          {typeof checked === "string" ? (
            checked
          ) : checked.why ? (
            `${w.notValid} ${w.noSlope[checked.why]({
              below: checked.below ?? "",
              above: checked.above ?? "",
              about: checked.about ?? [],
            })}`
          ) : (
            <>
              <span className="mono">{w.checked(checked.given, checked.slope ?? "")}</span>{" "}
              <span className={checked.agrees ? "good" : "bad"}>{checked.agrees ? w.agree : w.disagree}</span>
            </>
          )}
        </p>
      )}
    </div>
  );
}
