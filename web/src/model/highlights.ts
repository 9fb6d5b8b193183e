/** Highlights of Explain: the cells that belong to a cell of any tensor of a block, its gradients and their gradients. */

import type { Explained, Tensor } from "../net/generated.ts";
import { type Derivation, derive, type Role, windowWinners } from "./contributions.ts";
import { unravelIndex } from "./indexing.ts";
import { LoopNest, type ReadCell, type Shapes } from "./loop-nest.ts";
import type { GradientInfo, Ops } from "./ops.ts";

/** A block with its tensors and loop nests. */
export interface ExplainedBlock {
  readonly explained: Explained;
  readonly nests: readonly LoopNest[];
  readonly shapes: Shapes;
}

/** from: dependencies and what they are combined with; feeds: dependents; here: the cell itself and its counterparts. */
export type HighlightKind = "here" | "winner" | "tie" | "from" | "feeds";

/** Highlighted cells by tensor ("block:pin") and kind. */
export type Highlights = ReadonlyMap<string, ReadonlyMap<HighlightKind, CellOffsets>>;
export type CellOffsets = Float64Array | readonly number[];
type AddHighlight = (tensor: string, how: HighlightKind, offsets: CellOffsets) => void;

/** The most outputs that are tested whether they selected the cell; others are only highlighted. */
const MAX_OUTPUTS_TESTED = 128;

export function explainedBlock(explained: Explained): ExplainedBlock {
  const of = <T>(what: (tensor: Tensor) => T): Record<string, T> =>
    Object.fromEntries(Object.entries(explained.tensors).map(([name, tensor]) => [name, what(tensor)]));
  const shapes = of((tensor) => tensor.shape);
  const types = of((tensor) => tensor.dtype);
  return {
    explained,
    shapes,
    nests: explained.access_maps.map((accessMap) => new LoopNest(accessMap, shapes, types)),
  };
}

/** Reads tensors by the names that a block gives them. */
export function readByName({ explained }: ExplainedBlock, readCell: ReadCell): ReadCell {
  return (name, offset) => readCell(explained.tensors[name]?.pin ?? "", offset);
}

/**
 * Counterparts: tensors of one shape whose cells correspond, as an input and its gradient, or an output and its
 * incoming gradient. By tensor, all its counterparts and itself.
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
 * Which gradient of a block another block computes: it has the op, is wired to the same inputs and outputs, and its
 * incoming gradient has the shape of the output.
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

/** The highlights of one cell. */
export function highlightsOf(
  rows: readonly ExplainedBlock[],
  counterparts: ReadonlyMap<string, readonly string[]>,
  readCell: ReadCell,
  pin: string,
  offset: number,
): Highlights {
  const highlights = new Map<string, Map<HighlightKind, CellOffsets>>();
  const add: AddHighlight = (tensor, how, offsets) => {
    const known = highlights.get(tensor) ?? new Map<HighlightKind, CellOffsets>();
    highlights.set(tensor, known);
    const before = known.get(how);
    known.set(how, before ? union(before, offsets) : offsets);
  };
  const here = counterparts.get(pin) ?? [pin];
  for (const counterpart of here) add(counterpart, "here", [offset]);
  for (const row of rows) {
    const { tensors } = row.explained;
    for (const name of startTensors(row, pin, here)) {
      highlightBlock(row, name, offset, readByName(row, readCell), (other, how, offsets) =>
        add(tensors[other]?.pin ?? "", how, offsets),
      );
    }
  }
  return highlights;
}

/** The union of cells; the same object if both are equal, as those of gradients mostly are. */
function union(before: CellOffsets, offsets: CellOffsets): CellOffsets {
  const same = before.length === offsets.length && before.every((each, i) => each === offsets[i]);
  return same ? before : [...new Set([...before, ...offsets])];
}

/**
 * The tensors of a block to start from: an output that is a counterpart, or else the tensor itself, or else an input
 * that is a counterpart.
 */
function startTensors(
  { explained, nests }: ExplainedBlock,
  pin: string,
  counterparts: readonly string[],
): string[] {
  const { tensors, outputs } = explained;
  const known = Object.keys(tensors).filter((name) => nests.some((nest) => nest.has(name)));
  const used = known.filter((name) => nests.some((nest) => nest.uses(name)));
  const own = known.filter((name) => tensors[name]?.pin === pin);
  const likely = [
    known
      .filter((name) => outputs.includes(name) && counterparts.includes(tensors[name]?.pin ?? ""))
      .slice(0, 1),
    own.filter((name) => used.includes(name)),
    used.filter((name) => counterparts.includes(tensors[name]?.pin ?? "")).slice(0, 1),
  ];
  return likely.find((each) => each.length > 0) ?? own;
}

function highlightBlock(
  row: ExplainedBlock,
  name: string,
  offset: number,
  readCell: ReadCell,
  add: AddHighlight,
): void {
  const { outputs } = row.explained;
  const fromOutput = outputs.includes(name);
  for (const nest of row.nests) {
    if (!nest.has(name)) continue;
    for (const other of nest.tensors) {
      if (other === name) continue;
      const linked = nest.relatedCells(name, offset, other, readCell);
      add(other, !fromOutput && outputs.includes(other) ? "feeds" : "from", linked);
      if (!fromOutput && outputs.includes(other) && SELECTING_RULES.has(nest.rule)) {
        highlightWinningOutputs(nest, name, offset, other, linked, readCell, add);
      }
    }
  }
  if (!fromOutput) return;
  const choosing = row.nests.filter((nest) => SELECTING_RULES.has(nest.rule));
  for (const derivation of derive(choosing, name, offset, readCell)) highlightWinners(derivation, add);
}

/** Highlights the outputs that selected this cell. */
function highlightWinningOutputs(
  nest: LoopNest,
  name: string,
  offset: number,
  output: string,
  linked: Float64Array,
  readCell: ReadCell,
  add: AddHighlight,
): void {
  if (nest.rule === "winners" && name === nest.of[0]) {
    // The points of the window tell the winner; deriving each output would visit all windows around it.
    const { wins, ties } = windowWinners(nest, name, offset, readCell);
    add(output, "winner", wins);
    add(output, "tie", ties);
    return;
  }
  for (const at of linked.subarray(0, MAX_OUTPUTS_TESTED)) {
    const role = roleIn(derive([nest], output, at, readCell), name, offset);
    if (role === "wins") add(output, "winner", [at]);
    if (role === "ties") add(output, "tie", [at]);
  }
}

/** Rules that select some of the cells, such as a maximum. */
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

function roleIn(derivations: readonly Derivation[], name: string, offset: number): Role | undefined {
  const roles = derivations.flatMap(({ contributions }) =>
    contributions.filter(({ cells }) => cells.get(name) === offset).map(({ role }) => role),
  );
  return (["wins", "ties"] as const).find((role) => roles.includes(role));
}

function highlightWinners({ nest, contributions }: Derivation, add: AddHighlight): void {
  const [given, ...compared] = nest.of;
  for (const { role, cells } of contributions) {
    const at = (tensor: string): number[] => [cells.get(tensor) as number];
    if (nest.rule === "winners") for (const tensor of compared) add(tensor, "winner", at(tensor));
    if (role !== "wins" && role !== "ties") continue;
    const how = role === "wins" ? "winner" : "tie";
    if (given !== undefined) add(given, how, at(given));
    if (nest.rule !== "winners") for (const tensor of compared) add(tensor, how, at(tensor));
  }
}

/** Cells as index ranges along each axis, such as [0, 2-3, 4-8:2]. */
export function regionText(offsets: readonly number[], shape: readonly number[]): string {
  const cells = offsets.map((offset) => unravelIndex(offset, shape));
  const axes = shape.map((_, axis) =>
    [...new Set(cells.map((cell) => cell[axis] as number))].sort((a, b) => a - b),
  );
  return `[${axes.map(rangeText).join(", ")}]`;
}

/** An index range: 3, 2-5, 2-8:2 for every second, or 1,2,5. */
function rangeText(offsets: readonly number[]): string {
  const [first, second] = offsets;
  const last = offsets.at(-1);
  if (first === undefined || second === undefined) return String(first ?? "");
  const step = second - first;
  const even = offsets.every((offset, i) => i === 0 || offset - (offsets[i - 1] as number) === step);
  if (!even) return offsets.length <= 4 ? offsets.join(",") : `${first}-${last}`;
  return step === 1 ? `${first}-${last}` : `${first}-${last}:${step}`;
}
