/** What lights up in a block, its gradients and their gradients when one cell of any of their tensors is looked at. */

import type { Explained, Tensor } from "../net/generated.ts";
import { type Derivation, derive, type Role, windowWinners } from "./contributions.ts";
import { unravelIndex } from "./indexing.ts";
import { LoopNest, type ReadCell, type Shapes } from "./loop-nest.ts";
import type { GradientInfo, Ops } from "./ops.ts";

/** One block with its tensors. */
export interface ExplainedBlock {
  readonly explained: Explained;
  readonly nests: readonly LoopNest[];
  readonly shapes: Shapes;
}

/** "from": it comes from there or is combined with it; "feeds": it leads there; "here": the cell itself, in twins too. */
export type HighlightKind = "here" | "winner" | "tie" | "from" | "feeds";

/** For each tensor, by the name that `Look` takes, the places that light up in each way. */
export type Highlights = ReadonlyMap<string, ReadonlyMap<HighlightKind, CellOffsets>>;
export type CellOffsets = Float64Array | readonly number[];
type AddHighlight = (tensor: string, how: HighlightKind, places: CellOffsets) => void;

/** So many outputs are asked whether they took the cell; the others are only lit. */
const MAX_OUTPUTS_TESTED = 128;

export function explainedBlock(explained: Explained): ExplainedBlock {
  const of = <T>(what: (tensor: Tensor) => T): Record<string, T> =>
    Object.fromEntries(Object.entries(explained.tensors).map(([name, tensor]) => [name, what(tensor)]));
  const shapes = of((tensor) => tensor.shape);
  const types = of((tensor) => tensor.dtype);
  return { explained, shapes, nests: explained.ways.map((way) => new LoopNest(way, shapes, types)) };
}

/** What tensors hold, by the names they have in a row. */
export function readByName({ explained }: ExplainedBlock, holding: ReadCell): ReadCell {
  return (name, place) => holding(explained.tensors[name]?.pin ?? "", place);
}

/**
 * Tensors of one shape whose cells stand for the same place: an input and its gradient, an output and what flows back
 * from it. By tensor, all its twins and itself.
 */
export function counterpartsOf(
  rows: readonly ExplainedBlock[],
  ops: Ops,
): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  const join = (a: string | undefined, b: string | undefined): void => {
    if (a === undefined || b === undefined) return;
    const [one, other] = [groups.get(a) ?? [a], groups.get(b) ?? [b]];
    if (one === other) return;
    const all = [...one, ...other.filter((pin) => !one.includes(pin))];
    for (const pin of all) groups.set(pin, all);
  };
  for (const { explained } of rows) {
    const forward = rows.find((row) => row.explained.block === explained.forward)?.explained;
    const gradient = forward && gradientOf(forward, explained, ops);
    if (!forward || !gradient) continue;
    join(forward.tensors[gradient.input]?.pin, explained.tensors[gradient.gives]?.pin);
    for (const [pin, from] of Object.entries(gradient.inputs)) {
      if (from.startsWith("gradient ")) {
        join(forward.tensors[from.slice("gradient ".length)]?.pin, explained.tensors[pin]?.pin);
      }
    }
  }
  return groups;
}

/**
 * Which of a block's gradients another block computes: that op, with the same inputs and outputs wired to it, and what
 * flows back in the shape of the output it flows from.
 */
export function gradientOf(forward: Explained, back: Explained, ops: Ops): GradientInfo | undefined {
  return ops.get(forward.op)?.gradients.find(
    ({ op, inputs }) =>
      op === back.op &&
      Object.entries(inputs).every(([pin, from]) => {
        const [what, name = ""] = from.split(" ");
        const [own, other] = [back.tensors[pin], forward.tensors[name]];
        if (what === "gradient") return String(own?.shape) === String(other?.shape);
        return (what !== "input" && what !== "output") || own?.pin === other?.pin;
      }),
  );
}

/** All that belongs to one cell. */
export function highlightsOf(
  rows: readonly ExplainedBlock[],
  twins: ReadonlyMap<string, readonly string[]>,
  holding: ReadCell,
  pin: string,
  place: number,
): Highlights {
  const lights = new Map<string, Map<HighlightKind, CellOffsets>>();
  const light: AddHighlight = (tensor, how, places) => {
    const known = lights.get(tensor) ?? new Map<HighlightKind, CellOffsets>();
    lights.set(tensor, known);
    const before = known.get(how);
    known.set(how, before ? union(before, places) : places);
  };
  const here = twins.get(pin) ?? [pin];
  for (const twin of here) light(twin, "here", [place]);
  for (const row of rows) {
    const { tensors } = row.explained;
    for (const name of startTensors(row, pin, here)) {
      highlightBlock(row, name, place, readByName(row, holding), (other, how, places) =>
        light(tensors[other]?.pin ?? "", how, places),
      );
    }
  }
  return lights;
}

/** All places of both: the same when both have the same, as gradients mostly do. */
function union(before: CellOffsets, places: CellOffsets): CellOffsets {
  const same = before.length === places.length && before.every((each, i) => each === places[i]);
  return same ? before : [...new Set([...before, ...places])];
}

/**
 * The tensors of a row to begin from: what it makes for the same place, or else the tensor itself, or else a twin of
 * it that takes part in what is computed.
 */
function startTensors({ explained, nests }: ExplainedBlock, pin: string, twins: readonly string[]): string[] {
  const { tensors, outputs } = explained;
  const known = Object.keys(tensors).filter((name) => nests.some((nest) => nest.has(name)));
  const used = known.filter((name) => nests.some((nest) => nest.uses(name)));
  const own = known.filter((name) => tensors[name]?.pin === pin);
  const likely = [
    known.filter((name) => outputs.includes(name) && twins.includes(tensors[name]?.pin ?? "")).slice(0, 1),
    own.filter((name) => used.includes(name)),
    used.filter((name) => twins.includes(tensors[name]?.pin ?? "")).slice(0, 1),
  ];
  return likely.find((each) => each.length > 0) ?? own;
}

function highlightBlock(
  row: ExplainedBlock,
  name: string,
  place: number,
  holding: ReadCell,
  light: AddHighlight,
): void {
  const { outputs } = row.explained;
  const fromOutput = outputs.includes(name);
  for (const nest of row.nests) {
    if (!nest.has(name)) continue;
    for (const other of nest.tensors) {
      if (other === name) continue;
      const linked = nest.relatedCells(name, place, other, holding);
      light(other, !fromOutput && outputs.includes(other) ? "feeds" : "from", linked);
      if (!fromOutput && outputs.includes(other) && SELECTING_RULES.has(nest.rule)) {
        highlightWinningOutputs(nest, name, place, other, linked, holding, light);
      }
    }
  }
  if (!fromOutput) return;
  const choosing = row.nests.filter((nest) => SELECTING_RULES.has(nest.rule));
  for (const derivation of derive(choosing, name, place, holding)) highlightWinners(derivation, light);
}

/** Which of the outputs that a cell leads to took it. */
function highlightWinningOutputs(
  nest: LoopNest,
  name: string,
  place: number,
  output: string,
  linked: Float64Array,
  holding: ReadCell,
  light: AddHighlight,
): void {
  if (nest.rule === "winners" && name === nest.of[0]) {
    // A window's own points tell who won it; asking each output would look at all windows around it.
    const { wins, ties } = windowWinners(nest, name, place, holding);
    light(output, "winner", wins);
    light(output, "tie", ties);
    return;
  }
  for (const at of linked.subarray(0, MAX_OUTPUTS_TESTED)) {
    const part = roleIn(derive([nest], output, at, holding), name, place);
    if (part === "wins") light(output, "winner", [at]);
    if (part === "ties") light(output, "tie", [at]);
  }
}

/** Rules that take some of the cells that lead to an output, and leave the others. */
const SELECTING_RULES: ReadonlySet<string> = new Set([
  "max",
  "min",
  "argmax",
  "largest at",
  "smallest at",
  "winners",
  "winner's",
  "close",
]);

function roleIn(derivations: readonly Derivation[], name: string, place: number): Role | undefined {
  const parts = derivations.flatMap(({ contributions }) =>
    contributions.filter(({ cells }) => cells.get(name) === place).map(({ part }) => part),
  );
  return (["wins", "ties"] as const).find((part) => parts.includes(part));
}

function highlightWinners({ nest, contributions }: Derivation, light: AddHighlight): void {
  const [given, ...compared] = nest.of;
  for (const { part, cells } of contributions) {
    const at = (tensor: string): number[] => [cells.get(tensor) as number];
    if (nest.rule === "winners") for (const tensor of compared) light(tensor, "winner", at(tensor));
    if (part !== "wins" && part !== "ties") continue;
    const how = part === "wins" ? "winner" : "tie";
    if (given !== undefined) light(given, how, at(given));
    if (nest.rule !== "winners") for (const tensor of compared) light(tensor, how, at(tensor));
  }
}

/** Places of a tensor in few words: along each axis the range that they cover, such as [0, 2-3, 4-8:2]. */
export function regionText(places: readonly number[], shape: readonly number[]): string {
  const cells = places.map((place) => unravelIndex(place, shape));
  const axes = shape.map((_, axis) =>
    [...new Set(cells.map((cell) => cell[axis] as number))].sort((a, b) => a - b),
  );
  return `[${axes.map(rangeText).join(", ")}]`;
}

/** As in 3, 2-5, 2-8:2 for every second, or 1,2,5. */
function rangeText(places: readonly number[]): string {
  const [first, second] = places;
  const last = places.at(-1);
  if (first === undefined || second === undefined) return String(first ?? "");
  const step = second - first;
  const even = places.every((place, i) => i === 0 || place - (places[i - 1] as number) === step);
  if (!even) return places.length <= 4 ? places.join(",") : `${first}-${last}`;
  return step === 1 ? `${first}-${last}` : `${first}-${last}:${step}`;
}
