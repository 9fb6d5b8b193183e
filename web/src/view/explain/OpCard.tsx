import type { ReactElement } from "react";
import type { Graph } from "../../model/graph.ts";
import type { AccessMap } from "../../net/generated.ts";
import { useOps } from "../active-page.ts";
import { previewAttr } from "../canvas/value-preview.ts";
import { Formula } from "../panels/Docs.tsx";
import { useExplainStrings } from "../strings.ts";
import type { GradientRow } from "./explanation.ts";
import { generalFormula } from "./general-formula.ts";

/** The most formulas that are shown: a list of a hundred tensors has a hundred alike. */
const MAX_WAYS = 4;

/** The card of an op: name, formula and attributes. */
export function OpCard({ graph, shown: { row, depth } }: { graph: Graph; shown: GradientRow }): ReactElement {
  const t = useExplainStrings();
  const { block, op } = row.explained;
  const attrs = graph.blocks.get(block)?.rows ?? [];
  return (
    <div className="explain-op">
      <span className="explain-arrow" aria-hidden="true">
        {depth === 1 ? "←" : "→"}
      </span>
      <b>{op}</b>
      <span className="mono soft small">{block}</span>
      <Rule row={row} />
      {attrs.length > 0 && (
        <dl className="explain-attrs">
          {attrs.map((attr) => (
            <div key={attr.name}>
              <dt>{attr.name}</dt>
              <dd className="mono">{previewAttr(attr)}</dd>
            </div>
          ))}
        </dl>
      )}
      {row.nests.length === 0 && (
        <p className="small">{row.explained.declared === false ? t.notDeclared(op) : t.noDependencies(op)}</p>
      )}
    </div>
  );
}

/** Whether a loop nest adds to the output of an earlier one, as sums do. */
function isMore(made: readonly { accessMap: AccessMap; output: string }[], i: number): boolean {
  const { accessMap, output } = made[i] as { accessMap: AccessMap; output: string };
  return accessMap.rule === "sum" && made.slice(0, i).some((each) => each.output === output);
}

/** The general formula of each loop nest, or the op's own formula where only the op can compute it. */
function Rule({ row: { explained, shapes } }: { row: GradientRow["row"] }): ReactElement | null {
  const t = useExplainStrings();
  const formula = useOps().get(explained.op)?.formula;
  const made = explained.access_maps.flatMap((accessMap) =>
    explained.outputs.filter((output) => accessMap.cells[output]).map((output) => ({ accessMap, output })),
  );
  if (formula && made.some(({ accessMap }) => accessMap.rule === "apply"))
    return <Formula formula={formula} />;
  return (
    <>
      {made.slice(0, MAX_WAYS).map(({ accessMap, output }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a accessMap is its place.
        <div className="formula mono" key={i}>
          {generalFormula(accessMap, output, explained.op, shapes, t, isMore(made, i)).map(
            ({ text, low }, at) =>
              // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place.
              low ? <sub key={at}>{text}</sub> : <span key={at}>{text}</span>,
          )}
        </div>
      ))}
      {made.length > MAX_WAYS && <span className="soft small">{t.more(made.length - MAX_WAYS)}</span>}
    </>
  );
}
