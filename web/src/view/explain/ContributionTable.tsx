import type { ReactElement } from "react";
import type { Derivation } from "../../model/contributions.ts";
import { unravelIndex } from "../../model/indexing.ts";
import type { ReadCell, Shapes } from "../../model/loop-nest.ts";
import { useExplainStrings } from "../strings.ts";
import { formatCell } from "./cell-summary.ts";
import { formatRounded } from "./numeric-formula.ts";

const MAX_ROWS = 60;

const AMOUNT: Readonly<Record<string, "product" | "both" | "share" | "adds" | undefined>> = {
  sum: "product",
  added: "both",
  shares: "share",
  winners: "adds",
  close: "adds",
  "winner's": "adds",
};
const RUNNING: Readonly<Record<string, "sum" | "best" | "running" | undefined>> = {
  sum: "sum",
  added: "sum",
  mean: "sum",
  shares: "sum",
  winners: "sum",
  close: "sum",
  max: "best",
  min: "best",
  argmax: "best",
  "largest at": "best",
  "smallest at": "best",
  product: "running",
};

/** The table of contributions: cells, values, amount and running total. */
export function ContributionTable({
  derivation: { nest, contributions, truncated },
  shapes,
  readCell,
}: {
  derivation: Derivation;
  shapes: Shapes;
  readCell: ReadCell;
}): ReactElement {
  const t = useExplainStrings();
  const single = nest.rule === "sum" && nest.of.length < 2 && !contributions.some(({ weight }) => weight);
  const amount = single ? undefined : AMOUNT[nest.rule];
  const alone = contributions.length === 1 && (nest.rule === "added" || nest.of.length === 1);
  // A single summand is its own total.
  const running = alone && (nest.rule === "added" || nest.rule === "sum") ? undefined : RUNNING[nest.rule];
  const weighed = contributions.some(({ weight }) => weight !== undefined);
  // Index above value: side by side, two tensors would leave no room for the result.
  const stacked = nest.of.length > 1;
  const chosen = contributions.some(({ role }) => role !== "counts");
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must by keyboard too. */}
      <section className="explain-table" aria-label={t.contributions} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {nest.of.map((tensor) => (
                <th key={tensor} scope="col" colSpan={stacked ? 1 : 2}>
                  {tensor}
                </th>
              ))}
              {weighed && <th scope="col">{t.weight}</th>}
              {amount && <th scope="col">{t[amount]}</th>}
              {running && <th scope="col">{t[running]}</th>}
              {chosen && <th scope="col" aria-label={t.gives} />}
            </tr>
          </thead>
          <tbody>
            {contributions.slice(0, MAX_ROWS).map((each, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a contribution is its place.
              <tr key={i} className={`part-${each.role}`}>
                {nest.of.map((tensor, at) => (
                  <FactorCells
                    key={tensor}
                    stacked={stacked}
                    cell={formatCell(unravelIndex(each.cells.get(tensor) ?? 0, shapes[tensor] ?? []))}
                    value={formatRounded(each.values[at], t)}
                    stands={
                      nest.codes[tensor] &&
                      formatRounded(nest.dequantized(tensor, each.values[at], readCell), t)
                    }
                  />
                ))}
                {weighed && <td>{formatRounded(each.weight, t)}</td>}
                {amount && (
                  <td>
                    {each.divisor !== undefined && <span className="soft">{t.divided(each.divisor)} = </span>}
                    {formatRounded(each.amount, t)}
                  </td>
                )}
                {running && <td>{formatRounded(each.running, t)}</td>}
                {chosen && <td className="explain-part">{t.counts[each.role]}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {contributions.length > MAX_ROWS && (
        <p className="soft small">{t.more(contributions.length - MAX_ROWS)}</p>
      )}
      {truncated && <p className="soft small">{t.tooMany(contributions.length)}</p>}
    </>
  );
}

/** The index and value of a cell, with the dequantized value of a code. */
function FactorCells(props: {
  stacked: boolean;
  cell: string;
  value: string;
  stands: string | undefined;
}): ReactElement {
  const number = (
    <>
      {props.value}
      {props.stands !== undefined && <span className="soft"> = {props.stands}</span>}
    </>
  );
  if (!props.stacked)
    return (
      <>
        <td className="soft">{props.cell}</td>
        <td>{number}</td>
      </>
    );
  return (
    <td>
      <div className="soft">{props.cell}</div>
      {number}
    </td>
  );
}
