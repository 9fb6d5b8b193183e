/** Names of the axes of tensors, where an op says them of its pins. */

import { type BlockView, type Graph, keyOf, specOf, type Wire } from "./graph.ts";

/** The letters of a block's axes, where it has a data format. */
export function dataFormat(view: BlockView): string | undefined {
  const format = [...view.rows, ...view.rest].find((row) => row.name === "data_format")?.value;
  return typeof format === "string" && /^[A-Z]+$/.test(format) ? format : undefined;
}

/** The names at one pin of a block, as its op declares them; nothing if it does not. */
export function axisNamesAtPin(view: BlockView | undefined, pin: string, rank: number): string[] | undefined {
  const { inputs = [], outputs = [] } = view?.info ?? {};
  // An input may be called as an output is; both have the same axes then, or none has any.
  const axes = [...inputs, ...outputs].find((each) => each.name === pin && each.axes)?.axes;
  const names = axes === "data_format" ? view && dataFormat(view) : axes;
  return names?.length === rank ? [...names] : undefined;
}

/** Ops that give axes another order or another meaning, although shapes may be the same. */
const REORDERS = /Transpose|Reshape|MatMul|Conv|SpaceTo|ToSpace|ToBatch|ToDepth/;

/**
 * The names of an output's axes: as its block says, or else the blocks that take it, or those around it that keep
 * the shape; numbers if none does.
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

/** Outputs beside this one with the same shape, of blocks that leave axes as they are: first those it comes from. */
function sameShapeNeighbours(graph: Graph, source: string, block: string, takers: readonly Wire[]): string[] {
  const shape = String(specOf(graph, source)?.shape);
  const keeps = (name: string): boolean => !REORDERS.test(graph.blocks.get(name)?.op ?? "");
  const before = keeps(block) ? (graph.into.get(block) ?? []).map((wire) => wire.source) : [];
  const after = takers
    .filter(({ to }) => keeps(to.block))
    .flatMap(({ to }) => graph.blocks.get(to.block)?.outputs.map((pin) => keyOf(pin.ref)) ?? []);
  return [...before, ...after].filter((each) => String(specOf(graph, each)?.shape) === shape);
}

export function numberedAxes(rank: number): string[] {
  return Array.from({ length: rank }, (_, axis) => String(axis));
}
