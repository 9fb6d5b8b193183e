/** Axis names of tensors (N, D, H, W, C, I, O), from what ops declare of their pins. */

import { type BlockView, type Graph, keyOf, specOf, type Wire } from "./graph.ts";

/** The data format of a block, such as NDHWC; undefined if it has none. */
export function dataFormat(view: BlockView): string | undefined {
  const format = [...view.rows, ...view.rest].find((row) => row.name === "data_format")?.value;
  return typeof format === "string" && /^[A-Z]+$/.test(format) ? format : undefined;
}

/** The axis names at a pin, as its op declares them; undefined if it does not, or for another rank. */
export function axisNamesAtPin(view: BlockView | undefined, pin: string, rank: number): string[] | undefined {
  const { inputs = [], outputs = [] } = view?.info ?? {};
  // An input and an output of the same name have the same axes.
  const axes = [...inputs, ...outputs].find((each) => each.name === pin && each.axes)?.axes;
  const names = axes === "data_format" ? view && dataFormat(view) : axes;
  return names?.length === rank ? [...names] : undefined;
}

/** Ops that change the order or meaning of axes although the shape may stay the same. */
const REORDERS = /Transpose|Reshape|MatMul|Conv|SpaceTo|ToSpace|ToBatch|ToDepth/;

/**
 * The axis names of an output: declared by its own block, by a consumer, or by a neighbour with the same shape;
 * numbers if none declares any.
 */
export function axisNames(graph: Graph, block: string, pin: string, rank: number): string[] {
  const seen = new Set<string>();
  const named = (source: string): string[] | undefined => {
    if (seen.has(source) || rank < 3) return undefined;
    seen.add(source);
    const colon = source.indexOf(":");
    const [name, key] = [source.slice(0, colon), source.slice(colon + 1)];
    const own = axisNamesAtPin(graph.blocks.get(name), key, rank);
    if (own) return own;
    const takers = (graph.outOf.get(name) ?? []).filter((wire) => wire.source === source);
    for (const { to } of takers) {
      const names = axisNamesAtPin(graph.blocks.get(to.block), to.pin, rank);
      if (names) return names;
    }
    return sameShapeNeighbours(graph, source, name, takers)
      .map(named)
      .find((names) => names !== undefined);
  };
  return named(`${block}:${pin}`) ?? numberedAxes(rank);
}

/** Neighbouring outputs of the same shape, of blocks that do not reorder axes; producers first. */
function sameShapeNeighbours(graph: Graph, source: string, block: string, takers: readonly Wire[]): string[] {
  const shape = String(specOf(graph, source)?.shape);
  const keeps = (name: string): boolean => !REORDERS.test(graph.blocks.get(name)?.op ?? "");
  const before = keeps(block) ? (graph.into.get(block) ?? []).map((wire) => wire.source) : [];
  const after = takers
    .filter(({ to }) => keeps(to.block))
    .flatMap(({ to }) => graph.blocks.get(to.block)?.outputs.map((pin) => keyOf(pin.ref)) ?? []);
  return [...before, ...after].filter((each) => String(specOf(graph, each)?.shape) === shape);
}

/** Rows and columns of the picture of an output: H and W, unless both are of size 1 or it has neither. */
export function pictureAxes(graph: Graph, pin: string): readonly [number, number] | undefined {
  const shape = specOf(graph, pin)?.shape ?? [];
  const colon = pin.indexOf(":");
  const names = axisNames(graph, pin.slice(0, colon), pin.slice(colon + 1), shape.length);
  const [rows, columns] = [names.indexOf("H"), names.indexOf("W")];
  return rows < 0 || columns < 0 || (shape[rows] === 1 && shape[columns] === 1) ? undefined : [rows, columns];
}

export function numberedAxes(rank: number): string[] {
  return Array.from({ length: rank }, (_, axis) => String(axis));
}
