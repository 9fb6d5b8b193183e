import { type ReactElement, useMemo } from "react";
import { type CellContext, differenceApplies } from "../../model/difference-rules.ts";
import type { Graph } from "../../model/graph.ts";
import { highlightsOf, readByName } from "../../model/highlights.ts";
import type { DifferenceInfo, Ops } from "../../model/ops.ts";
import { useOps } from "../active-page.ts";
import { useExplainStrings } from "../strings.ts";
import { type BlockTensor, counterpartOutput, rolesOfTensor } from "./cell-summary.ts";
import { derivationsAt } from "./derivation-cache.ts";
import type { Explanation } from "./explanation.ts";
import type { CursorCell } from "./useHighlights.ts";

/** The most dependents that are tested. */
const MAX_ASKED = 32;

interface Found extends DifferenceInfo {
  readonly op: string;
  /** Whether it affects the cell or its dependents; undefined if it is about accepted calls. */
  readonly here: boolean | undefined;
}

/** The differences from TensorFlow's CPU kernels: at this cell, at others, and in accepted calls. */
export function Differences({
  explanation,
  graph,
  at,
}: {
  explanation: Explanation;
  graph: Graph;
  at: CursorCell | null;
}): ReactElement | null {
  const t = useExplainStrings();
  const ops = useOps();
  const found = useMemo(() => differencesAt(explanation, graph, ops, at), [explanation, graph, ops, at]);
  if (found.length === 0) return null;
  const here = found.filter((each) => each.here);
  const kinds = [
    [t.differsElsewhere, found.filter((each) => each.here === false)],
    [at === null ? "" : t.differsInCalls, found.filter((each) => each.here === undefined)],
  ] as const;
  return (
    <section className="explain-made">
      <h3>{t.differences}</h3>
      {t.inEnglish && <p className="soft small">{t.inEnglish}</p>}
      {here.map((each) => (
        <Difference key={`${each.op} ${each.topic}`} difference={each} />
      ))}
      {kinds.map(([title, all]) =>
        all.length === 0 ? null : (
          <div key={title}>
            {title && <p className="soft small">{title}</p>}
            {all.map((each) => (
              <Difference key={`${each.op} ${each.topic}`} difference={each} />
            ))}
          </div>
        ),
      )}
    </section>
  );
}

function Difference({ difference }: { difference: Found }): ReactElement {
  const t = useExplainStrings();
  const { op, topic, tensorflow, ours, agree, at = "", here } = difference;
  return (
    <details className={here ? "difference here" : "difference"} open={here}>
      <summary>
        {here && <span className="explain-here">{t.differsHere}</span>} <b>{op}</b> {t.topics[topic] ?? topic}
      </summary>
      {here && <p>{t.affects[at]}</p>}
      <p>
        <b>TensorFlow:</b> {tensorflow}
      </p>
      <p>
        <b>backblocks:</b> {ours}
      </p>
      {agree && <p className="soft">{agree}</p>}
    </details>
  );
}

function differencesAt(explanation: Explanation, graph: Graph, ops: Ops, at: CursorCell | null): Found[] {
  const outputs = at === null ? [] : outputsFor(explanation, at);
  const rows = outputs.length ? outputs.map(({ row }) => row) : explanation.blocks;
  const seen = [...new Set(rows)];
  return seen.flatMap((row) => {
    const { op, block } = row.explained;
    if (seen.find((other) => other.explained.op === op) !== row) return [];
    const cells = outputs.filter((each) => each.row.explained.op === op);
    const offsets = cells.map((each) => cellContext(explanation, graph, each));
    return (ops.get(op)?.differences ?? []).map((each): Found => {
      const asked = offsets.map((offset) => differenceApplies(each.at, offset));
      const here = at === null || asked.length === 0 ? undefined : asked.some(Boolean) || asked[0];
      return { op, ...each, here: block ? here : undefined };
    });
  });
}

interface OutputCell extends BlockTensor {
  readonly offset: number;
}

/** The output cell of a cell: itself or its counterpart, or else its dependents. */
function outputsFor(explanation: Explanation, { pin, offset }: CursorCell): OutputCell[] {
  const { made, taken } = rolesOfTensor(explanation, pin);
  const own = made[0] ?? counterpartOutput(explanation, pin);
  if (own) return [{ ...own, offset }];
  return taken.flatMap(({ row }) => {
    const highlights = highlightsOf([row], new Map(), explanation.readCell, pin, offset);
    return row.explained.outputs.flatMap((name) => {
      const fed = highlights.get(row.explained.tensors[name]?.pin ?? "")?.get("feeds") ?? [];
      return [...fed.slice(0, MAX_ASKED)].map((each) => ({ row, name, offset: each }));
    });
  });
}

function cellContext(explanation: Explanation, graph: Graph, { row, name, offset }: OutputCell): CellContext {
  const readCell = readByName(row, explanation.readCell);
  const view = graph.blocks.get(row.explained.block);
  const attrs = [...(view?.rows ?? []), ...(view?.rest ?? [])];
  return {
    row,
    name,
    offset,
    readCell,
    derivations: derivationsAt(explanation, row, name, offset),
    setting: (attr) => attrs.find((each) => each.name === attr)?.value,
  };
}
