import { type ReactElement, useState } from "react";
import type { GradientChecked } from "../../net/generated.ts";
import { studio } from "../../state/store.ts";
import { useExplainStrings } from "../strings.ts";
import type { Explanation } from "./explanation.ts";

interface Answer {
  /** The checked block and cell. */
  readonly of: string;
  readonly explanation: Explanation;
  readonly answer: GradientChecked | string;
}

/** Checks the gradient at a cell against a finite difference. */
export function GradientCheck({
  explanation,
  block,
  cell,
}: {
  explanation: Explanation;
  block: string;
  cell: number[];
}): ReactElement {
  const t = useExplainStrings();
  const of = `${block} ${cell.join()}`;
  const [last, setLast] = useState<Answer | null>(null);
  // An answer may arrive after the cursor has moved on.
  const checked = last?.of === of && last.explanation === explanation ? last.answer : null;
  const check = () => {
    const tell = (answer: Answer["answer"]) => setLast({ of, explanation, answer });
    tell(t.checking);
    studio.requests
      .checkCell(explanation.page, block, cell)
      .then(tell, (error: Error) => tell(error.message));
  };
  return (
    <div className="explain-check">
      <button type="button" className="button" onClick={check}>
        {t.check}
      </button>
      {checked !== null && (
        <p role="status">
          {typeof checked === "string" ? (
            checked
          ) : checked.why ? (
            `${t.notComparable} ${t.noSlope[checked.why]({
              below: checked.below ?? "",
              above: checked.above ?? "",
              about: checked.about ?? [],
            })}`
          ) : (
            <>
              <span className="mono">{t.checked(checked.given, checked.slope ?? "")}</span>{" "}
              <span className={checked.agrees ? "good" : "bad"}>{checked.agrees ? t.agree : t.disagree}</span>
            </>
          )}
        </p>
      )}
    </div>
  );
}
