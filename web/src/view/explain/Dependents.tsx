import { type ReactElement, useMemo } from "react";
import { derive } from "../../model/contributions.ts";
import { highlightsOf, readByName } from "../../model/highlights.ts";
import { unravelIndex } from "../../model/indexing.ts";
import { useExplainStrings } from "../strings.ts";
import { type BlockTensor, formatCell } from "./cell-summary.ts";
import type { Explanation } from "./explanation.ts";
import { formatRounded } from "./numeric-formula.ts";

const MAX_ROWS = 60;
/** Rules with a summand for each cell. */
const ADDING: ReadonlySet<string> = new Set([
  "sum",
  "added",
  "mean",
  "shares",
  "winners",
  "winner's",
  "close",
]);

/** The output cells that depend on a cell, and its contribution to each. */
export function Dependents({
  explanation,
  named: { row, name },
  pin,
  offset,
}: {
  explanation: Explanation;
  named: BlockTensor;
  pin: string;
  offset: number;
}): ReactElement | null {
  const t = useExplainStrings();
  const found = useMemo(() => {
    const readCell = readByName(row, explanation.readCell);
    const highlights = highlightsOf([row], new Map(), explanation.readCell, pin, offset);
    return row.explained.outputs.flatMap((output) => {
      const tensor = row.explained.tensors[output];
      const offsets = [...((tensor && highlights.get(tensor.pin)?.get("feeds")) ?? [])];
      return offsets.slice(0, MAX_ROWS).map((at) => {
        const roles = derive(row.nests, output, at, readCell).flatMap(
          ({ nest, contributions, divisor = 1 }) =>
            contributions
              .filter(({ cells }) => cells.get(name) === offset)
              .map(({ amount, role }) => ({
                role,
                amount: amount === undefined || !ADDING.has(nest.rule) ? undefined : amount / divisor,
              })),
        );
        const amounts = roles.map(({ amount }) => amount);
        const adds = amounts.some((each) => each === undefined)
          ? undefined
          : amounts.reduce((sum: number, each) => sum + (each as number), 0);
        const role = roles.find((each) => each.role === "wins")?.role ?? roles[0]?.role ?? "counts";
        return {
          cell: `${output}${formatCell(unravelIndex(at, tensor?.shape ?? []))}`,
          value: explanation.readCell(tensor?.pin ?? "", at),
          adds,
          role,
        };
      });
    });
  }, [row, name, pin, offset, explanation]);
  if (found.length === 0) return null;
  const chosen = found.some(({ role }) => role !== "counts");
  const adding = found.some(({ adds }) => adds !== undefined);
  return (
    <section className="explain-made">
      <h3>{t.dependents}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must by keyboard too. */}
      <section className="explain-table" aria-label={t.dependents} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t.cell}</th>
              {adding && <th scope="col">{t.adds}</th>}
              <th scope="col">{t.gives}</th>
              {chosen && <th scope="col" aria-label={t.gives} />}
            </tr>
          </thead>
          <tbody>
            {found.map((each) => (
              <tr key={each.cell} className={`part-${each.role}`}>
                <td className="soft">{each.cell}</td>
                {adding && <td>{formatRounded(each.adds, t)}</td>}
                <td>{formatRounded(each.value, t)}</td>
                {chosen && <td className="explain-part">{t.counts[each.role]}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  );
}
