/** The sentence of the status line about one cell. */

import { type Derivation, isSubtracted } from "../../model/contributions.ts";
import { type ExplainedBlock, highlightsOf, regionText } from "../../model/highlights.ts";
import { unravelIndex } from "../../model/indexing.ts";
import { numberText } from "../../net/frames.ts";
import type { ExplainStrings } from "../../text/explain.en.ts";
import { derivationsAt } from "./derivation-cache.ts";
import type { Explanation } from "./explanation.ts";

/** A tensor of a block. */
export interface BlockTensor {
  readonly row: ExplainedBlock;
  readonly name: string;
}

/** The blocks that produce a tensor (`made`), and those that compute with it (`taken`). */
export function rolesOfTensor(
  explanation: Explanation,
  pin: string,
): { made: BlockTensor[]; taken: BlockTensor[] } {
  const named = explanation.blocks.flatMap((row) =>
    Object.entries(row.explained.tensors)
      .filter(([name, tensor]) => tensor.pin === pin && row.nests.some((nest) => nest.has(name)))
      .map(([name]) => ({ row, name })),
  );
  const made = named.filter(({ row, name }) => row.explained.outputs.includes(name));
  const taken = named.filter(
    ({ row, name }) => !row.explained.outputs.includes(name) && row.nests.some((nest) => nest.uses(name)),
  );
  return { made, taken };
}

/** The counterpart of a tensor that is an output: its gradient. */
export function counterpartOutput(explanation: Explanation, pin: string): BlockTensor | undefined {
  const counterparts = (explanation.counterparts.get(pin) ?? []).filter((each) => each !== pin);
  return counterparts.flatMap((counterpart) => rolesOfTensor(explanation, counterpart).made)[0];
}

/** The label of a tensor: the pin of the op in the first block, "block:pin" in others. */
function labelIn(explanation: Explanation, row: ExplainedBlock, name: string): string {
  return row === explanation.blocks[0] ? name : (row.explained.tensors[name]?.pin ?? name);
}

export function formatCell(cell: readonly number[]): string {
  return `[${cell.join(",")}]`;
}

export function formatValue(value: number | undefined, t: ExplainStrings): string {
  return value === undefined ? t.unknown : numberText(value, 9);
}

export function cellSummary(
  explanation: Explanation,
  pin: string,
  offset: number,
  t: ExplainStrings,
): string {
  const { made, taken } = rolesOfTensor(explanation, pin);
  const shape = explanation.tensors.get(pin)?.tensor.shape ?? [];
  const [first] = [...made, ...taken];
  const called = first ? labelIn(explanation, first.row, first.name) : pin;
  const head = `${called}${formatCell(unravelIndex(offset, shape))} = ${formatValue(explanation.readCell(pin, offset), t)}`;
  const parts = [head];
  if (made[0]) parts.push(madeText(explanation, made[0], offset, t));
  if (taken[0]) parts.push(feedsText(explanation, taken[0], pin, offset, t));
  return parts.filter((each) => each !== "").join(", ");
}

function madeText(
  explanation: Explanation,
  { row, name }: BlockTensor,
  offset: number,
  t: ExplainStrings,
): string {
  const derivations = derivationsAt(explanation, row, name, offset);
  return derivations
    .map((each, i) => {
      const text = derivedText(explanation, row, each, t);
      if (isSubtracted(each)) return t.minus(text);
      return i ? `${t.and(["", ""])}${text}` : text;
    })
    .join("")
    .trim();
}

function derivedText(
  explanation: Explanation,
  row: ExplainedBlock,
  { nest, contributions }: Derivation,
  t: ExplainStrings,
): string {
  const region = (tensor: string): string => {
    const offsets = [...new Set(contributions.map(({ cells }) => cells.get(tensor) as number))];
    return `${labelIn(explanation, row, tensor)}${regionText(offsets, row.shapes[tensor] as number[])}`;
  };
  const chosen = nest.rule === "winner's" || nest.rule === "winners";
  const compared = chosen ? nest.of.slice(0, 1) : nest.of;
  if (contributions.length === 0) return t.nothing;
  const regions = compared.map(region);
  const joined = nest.rule === "sum" || nest.rule === "mean" ? t.times(regions) : t.and(regions);
  // A single number is not called a sum.
  const single = nest.rule === "sum" && contributions.length === 1 && nest.of.length === 1;
  const text = single ? joined : (t.rules[nest.rule]?.(joined) ?? joined);
  const winner = contributions.find(({ role }) => role === "wins");
  const [given] = nest.of;
  if (!winner || given === undefined || nest.rule === "winners" || nest.rule === "close") return text;
  const ties = contributions.filter(({ role }) => role === "ties").length;
  const at = t.at(formatCell(unravelIndex(winner.cells.get(given) as number, row.shapes[given] as number[])));
  return `${text}${at}${ties ? t.ties(ties) : ""}`;
}

function feedsText(
  explanation: Explanation,
  { row, name }: BlockTensor,
  pin: string,
  offset: number,
  t: ExplainStrings,
): string {
  const highlights = highlightsOf([row], new Map(), explanation.readCell, pin, offset);
  const feeds = row.explained.outputs.flatMap((output) => {
    const tensor = row.explained.tensors[output];
    const highlighted = tensor && output !== name ? highlights.get(tensor.pin) : undefined;
    const offsets = [...(highlighted?.get("feeds") ?? [])];
    if (!tensor || offsets.length === 0) return [];
    const chosen = row.nests.some(
      ({ rule }) => rule !== "sum" && (highlighted?.has("winner") || rule === "max"),
    );
    const wins = chosen ? t.wins(highlighted?.get("winner")?.length ?? 0, offsets.length) : "";
    return [`${t.feeds(`${labelIn(explanation, row, output)}${regionText(offsets, tensor.shape)}`)}${wins}`];
  });
  return feeds.join(", ");
}
