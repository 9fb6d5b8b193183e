import type { ReactElement } from "react";
import { cellAt, type Shapes } from "../../model/cells.ts";
import type { Derivation } from "../../model/contributions.ts";
import { roundedText } from "./formula.ts";
import { cellText } from "./sentence.ts";
import { useExplainWords } from "./words.ts";

const MOST_ROWS = 60;

const AMOUNT: Readonly<Record<string, "product" | "share" | "adds" | undefined>> = {
  sum: "product",
  shares: "share",
  winners: "adds",
  close: "adds",
  "winner's": "adds",
};
const RUNNING: Readonly<Record<string, "sum" | "best" | "running" | undefined>> = {
  sum: "sum",
  mean: "sum",
  shares: "sum",
  winners: "sum",
  close: "sum",
  max: "best",
  min: "best",
  argmax: "best",
  argmin: "best",
  product: "running",
};

/** Each contribution: its cells and their numbers, what they make, and what all up to it come to. */
export function ContributionTable({
  derivation: { nest, contributions, cut },
  shapes,
}: {
  derivation: Derivation;
  shapes: Shapes;
}): ReactElement {
  const w = useExplainWords();
  const amount = nest.rule === "sum" && nest.of.length < 2 ? undefined : AMOUNT[nest.rule];
  const running = RUNNING[nest.rule];
  const chosen = contributions.some(({ part }) => part !== "counts");
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must by keyboard too. */}
      <section className="explain-table" aria-label={w.contributions} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {nest.of.map((tensor) => (
                <th key={tensor} scope="col" colSpan={2}>
                  {tensor}
                </th>
              ))}
              {amount && <th scope="col">{w[amount]}</th>}
              {running && <th scope="col">{w[running]}</th>}
              {chosen && <th scope="col" aria-label={w.gives} />}
            </tr>
          </thead>
          <tbody>
            {contributions.slice(0, MOST_ROWS).map((each, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a contribution is its place.
              <tr key={i} className={`part-${each.part}`}>
                {nest.of.map((tensor, at) => (
                  <FactorCells
                    key={tensor}
                    cell={cellText(cellAt(each.cells.get(tensor) ?? 0, shapes[tensor] ?? []))}
                    value={roundedText(each.factors[at], w)}
                  />
                ))}
                {amount && (
                  <td>
                    {roundedText(each.amount, w)}
                    {each.divisor !== undefined && <span className="soft"> {w.divided(each.divisor)}</span>}
                  </td>
                )}
                {running && <td>{roundedText(each.running, w)}</td>}
                {chosen && <td className="explain-part">{w.counts[each.part]}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {contributions.length > MOST_ROWS && (
        <p className="soft small">{w.more(contributions.length - MOST_ROWS)}</p>
      )}
      {cut && <p className="soft small">{w.cutShort(contributions.length)}</p>}
    </>
  );
}

function FactorCells({ cell, value }: { cell: string; value: string }): ReactElement {
  return (
    <>
      <td className="soft">{cell}</td>
      <td>{value}</td>
    </>
  );
}
