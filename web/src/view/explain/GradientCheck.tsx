import { type ReactElement, useState } from "react";
import type { CellChecked } from "../../net/generated.ts";
import { studio } from "../../state/store.ts";
import type { Explanation } from "./explanation.ts";
import { useExplainWords } from "./words.ts";

interface Answer {
  /** The block and the cell that were checked, with the numbers of this picture. */
  readonly of: string;
  readonly picture: Explanation;
  readonly answer: CellChecked | string;
}

/** Compares the gradient at the cell with a finite difference, when asked. */
export function GradientCheck({
  picture,
  block,
  cell,
}: {
  picture: Explanation;
  block: string;
  cell: number[];
}): ReactElement {
  const w = useExplainWords();
  const of = `${block} ${cell.join()}`;
  const [last, setLast] = useState<Answer | null>(null);
  // An answer may come when another cell is looked at.
  const checked = last?.of === of && last.picture === picture ? last.answer : null;
  const check = () => {
    const tell = (answer: Answer["answer"]) => setLast({ of, picture, answer });
    tell(w.checking);
    studio.requests.checkCell(picture.page, block, cell).then(tell, (error: Error) => tell(error.message));
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
