/** Names of the axes of tensors, where a block's data format says them. */

import { type BlockView, type Graph, keyOf } from "./graph.ts";

/** The letters of a block's axes, where it has a data format. */
export function formatOf(view: BlockView): string | undefined {
  const format = [...view.rows, ...view.rest].find((row) => row.name === "data_format")?.value;
  return typeof format === "string" && /^[A-Z]+$/.test(format) ? format : undefined;
}

/** The names at one pin of a block: of filters their own, of all else the format; nothing if they are not known. */
function namesAt(view: BlockView | undefined, pin: string, rank: number): string[] | undefined {
  const format = view && formatOf(view);
  if (!view || !format) return undefined;
  const filter = pin === "filter" || (pin === "output" && /BackpropFilter/.test(view.op));
  const space = format.includes("D") ? "DHW" : "HW";
  // A depthwise filter has for each channel so many of the output.
  const names = filter ? `${space}${view.op.startsWith("Depthwise") ? "CM" : "IO"}` : format;
  return names.length === rank ? [...names] : undefined;
}

/** The names of an output's axes: as its block says, or else the blocks that take it; numbers if none does. */
export function axesOf(graph: Graph, block: string, pin: string, rank: number): string[] {
  const own = namesAt(graph.blocks.get(block), pin, rank);
  if (own) return own;
  for (const wire of graph.outOf.get(block) ?? []) {
    const ours = wire.source === keyOf({ block, pin }) || wire.source === `${block}:${pin}`;
    const names = ours ? namesAt(graph.blocks.get(wire.to.block), wire.to.pin, rank) : undefined;
    if (names) return names;
  }
  return numbered(rank);
}

export function numbered(rank: number): string[] {
  return Array.from({ length: rank }, (_, axis) => String(axis));
}
