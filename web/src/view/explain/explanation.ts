/** The data of Explain: a block, its gradients and second gradients, with the values of their tensors. */

import { axisNames, axisNamesAtPin } from "../../model/axes.ts";
import {
  canShareRange,
  colourIndices,
  colourRange,
  commonRange,
  type Range,
  symmetric,
} from "../../model/colour-index.ts";
import type { Graph } from "../../model/graph.ts";
import { counterpartsOf, type ExplainedBlock, explainedBlock, gradientOf } from "../../model/highlights.ts";
import { elementCount, unravelIndex } from "../../model/indexing.ts";
import type { ReadCell } from "../../model/loop-nest.ts";
import type { Ops } from "../../model/ops.ts";
import { fullSlice, sliceIndex, sliceLength, type TensorSlice, takeSlice } from "../../model/slices.ts";
import { asNumbers, type Elements, type Frame } from "../../net/frames.ts";
import type { Explained, Tensor } from "../../net/generated.ts";
import { studio } from "../../state/store.ts";
import { outputSource, type TensorSource } from "../inspector/tensor-source.ts";

/** The most cells of a tensor that is loaded as a whole. */
const MAX_LOADED = 1 << 21;
/** The most cells of a larger tensor that are fetched for a pinned cell. */
const MAX_FETCHED = 1 << 18;

export interface GradientRow {
  readonly row: ExplainedBlock;
  /** 0 forward, 1 gradient, 2 second gradient. */
  readonly depth: number;
}

export interface Explanation {
  readonly page: number;
  /** The block that was opened, which may be a gradient of the first one. */
  readonly block: string;
  readonly gradientRows: readonly GradientRow[];
  readonly blocks: readonly ExplainedBlock[];
  readonly counterparts: ReadonlyMap<string, readonly string[]>;
  readonly tensors: ReadonlyMap<string, LoadedTensor>;
  /** Axis names by tensor. */
  readonly axes: ReadonlyMap<string, readonly string[]>;
  readonly readCell: ReadCell;
  /** How often numbers came that were not here before. */
  fetchCount(): number;
}

/** A tensor with the values that are loaded. */
export class LoadedTensor {
  readonly count: number;
  readonly range: Range;
  readonly source: TensorSource;
  /** How often numbers came that were not here before. */
  fetchCount = 0;
  private readonly numbers: Float32Array | Float64Array | undefined;
  private readonly sparse = new Map<number, number>();

  constructor(
    private readonly page: number,
    readonly tensor: Tensor,
    frame: Frame | undefined,
    range?: Range,
  ) {
    this.count = elementCount(tensor.shape);
    this.numbers = frame && asNumbers(frame);
    this.range = range ?? finiteRange(this.numbers ?? []);
    // Complex numbers are pairs in a frame.
    const plain = frame && !tensor.dtype.startsWith("complex");
    this.source = plain ? frameSource(frame) : outputSource(page, tensor.pin);
  }

  get whole(): boolean {
    return this.numbers !== undefined;
  }

  at(offset: number): number | undefined {
    return this.numbers ? this.numbers[offset] : this.sparse.get(offset);
  }

  /** Fetches the bounding slice of some cells; false if nothing was fetched. */
  async fetch(offsets: Iterable<number>): Promise<boolean> {
    const { shape, pin } = this.tensor;
    const cells = [...offsets].map((offset) => unravelIndex(offset, shape));
    if (this.numbers || cells.length === 0) return false;
    const box: TensorSlice = shape.map((_, axis) => {
      const on = cells.map((cell) => cell[axis] as number);
      return { first: Math.min(...on), end: Math.max(...on) + 1, step: 1 };
    });
    const sizes = box.map(({ first, end }) => end - first);
    if (elementCount(sizes) > MAX_FETCHED) return false;
    const found = asNumbers(await studio.requests.slice(this.page, pin, sliceIndex(box)));
    const first = box.map((span) => span.first);
    this.fetchCount++;
    for (const [i, value] of found.entries()) {
      const cell = unravelIndex(i, sizes).map((at, axis) => at + (first[axis] as number));
      this.sparse.set(
        cell.reduce((offset, at, axis) => offset * (shape[axis] as number) + at, 0),
        value,
      );
    }
    return true;
  }
}

function finiteRange(numbers: ArrayLike<number>): Range {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < numbers.length; i++) {
    const value = numbers[i] as number;
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? { low: 0, high: 0 } : symmetric({ low, high });
}

/** A source with the whole tensor in memory. */
function frameSource({ header, elements }: Frame): TensorSource {
  const make = elements.constructor as new (from: ArrayLike<unknown>) => Elements;
  const part = (box: TensorSlice): Frame => ({
    header: { ...header, shape: box.map(sliceLength) },
    elements: new make(takeSlice(elements as ArrayLike<number>, header.shape, box)),
  });
  return {
    numbers: async (box) => part(box),
    shades: async (box, range) => colourIndices(asNumbers(part(box)), range),
    onChange: () => () => {},
  };
}

/** Whether in each row the ranges of all tensors are alike. */
export function rangesAlike({ gradientRows, tensors }: Explanation): boolean {
  return [0, 1, 2].every((depth) => {
    const row = gradientRows.filter((each) => each.depth === depth);
    const pins = row.flatMap(({ row: { explained } }) => Object.values(explained.tensors));
    return canShareRange(pins.flatMap(({ pin }) => tensors.get(pin)?.range ?? []));
  });
}

/** The common colour range of tensors. */
export function sharedRange(tensors: readonly LoadedTensor[]): Range {
  return commonRange(tensors.map((each) => each.range));
}

export async function loadExplanation(
  page: number,
  block: string,
  graph: Graph,
  ops: Ops,
): Promise<Explanation> {
  const chosen = await studio.requests.explain(page, block);
  const shown = await gradientRows(page, chosen, graph, ops);
  const rows = shown.map((each) => each.row);
  const pins = new Map(
    rows.flatMap(({ explained }) => Object.values(explained.tensors).map((each) => [each.pin, each])),
  );
  const tensors = new Map(
    await Promise.all([...pins].map(async ([pin, tensor]) => [pin, await loadTensor(page, tensor)] as const)),
  );
  return {
    page,
    block,
    gradientRows: shown,
    blocks: rows,
    counterparts: counterpartsOf(rows, ops),
    tensors,
    axes: new Map([...pins].map(([pin, { shape }]) => [pin, axesIn(rows, graph, pin, shape.length)])),
    readCell: (pin, offset) => tensors.get(pin)?.at(offset),
    fetchCount: () => [...tensors.values()].reduce((sum, each) => sum + each.fetchCount, 0),
  };
}

/** The axis names of a tensor, from the ops of this view, or else from the graph. */
function axesIn(rows: readonly ExplainedBlock[], graph: Graph, pin: string, rank: number): string[] {
  const own = rows.flatMap(({ explained }) =>
    Object.entries(explained.tensors)
      .filter(([, tensor]) => tensor.pin === pin)
      .flatMap(([name]) => {
        const names = axisNamesAtPin(graph.blocks.get(explained.block), name, rank);
        return names ? [names] : [];
      }),
  );
  const colon = pin.indexOf(":");
  return own[0] ?? axisNames(graph, pin.slice(0, colon), pin.slice(colon + 1), rank);
}

async function loadTensor(page: number, tensor: Tensor): Promise<LoadedTensor> {
  const count = elementCount(tensor.shape);
  const readable = tensor.dtype !== "string" && tensor.dtype !== "resource" && tensor.dtype !== "variant";
  if (!readable) return new LoadedTensor(page, tensor, undefined);
  if (count > MAX_LOADED)
    return new LoadedTensor(
      page,
      tensor,
      undefined,
      colourRange(await studio.requests.statistics(page, tensor.pin)),
    );
  return new LoadedTensor(
    page,
    tensor,
    await studio.requests.slice(page, tensor.pin, sliceIndex(fullSlice(tensor.shape))),
  );
}

/** The rows of Explain: the forward block, its gradients, its second gradients. */
async function gradientRows(page: number, chosen: Explained, graph: Graph, ops: Ops): Promise<GradientRow[]> {
  let first = chosen;
  for (let up = 0; up < 2 && first.forward; up++) first = await studio.requests.explain(page, first.forward);
  const shown: GradientRow[] = [{ row: explainedBlock(first), depth: 0 }];
  for (const depth of [1, 2]) {
    const above = shown.filter((each) => each.depth === depth - 1).map((each) => each.row.explained);
    const wanted = new Set(above.flatMap(({ op }) => ops.get(op)?.gradients.map((each) => each.op) ?? []));
    const known = new Set(shown.map((each) => each.row.explained.block));
    const candidates = [...graph.blocks.values()].filter(
      (view) => wanted.has(view.op) && !known.has(view.name),
    );
    // A block that has not run yet has no explanation, and is left out.
    const found = await Promise.all(
      candidates.map((view) => studio.requests.explain(page, view.name).catch(() => undefined)),
    );
    for (const explained of found) {
      const forward = explained && above.find((each) => isGradient(explained, each, first, graph, ops));
      if (forward) shown.push({ row: explainedBlock({ ...explained, forward: forward.block }), depth });
    }
  }
  return shown;
}

/**
 * Whether a block is a gradient of another. The server reports it for pure gradient ops; the gradient of a gradient may
 * be the forward op again, such as a convolution or an average pool of the incoming gradient.
 */
function isGradient(back: Explained, forward: Explained, first: Explained, graph: Graph, ops: Ops): boolean {
  if (back.forward) return back.forward === forward.block;
  const gradient = gradientOf(forward, back, ops);
  if (!gradient) return false;
  const attrs = (block: string, name: string): string =>
    JSON.stringify(graph.blocks.get(block)?.block.attrs?.[name] ?? null);
  const pins = (each: Explained): string[] => Object.values(each.tensors).map((tensor) => tensor.pin);
  const flowing = Object.entries(gradient.inputs).filter(([, from]) => from.startsWith("gradient "));
  return (
    gradient.attrs.every((name) => attrs(back.block, name) === attrs(forward.block, name)) &&
    flowing.every(([pin]) => !pins(first).includes(back.tensors[pin]?.pin ?? ""))
  );
}
