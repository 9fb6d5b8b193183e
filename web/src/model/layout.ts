/** What a tidy layout is made from, and a simple one. The better one is in `tidy.ts`, which is large and runs in a worker. */

import { BLOCK_WIDTH, COLUMN_GAP, GAP, onGrid, type Rect } from "./geometry.ts";
import type { Graph } from "./graph.ts";

/** What a layout is made from: plain data, so that it can go to a worker. */
export interface Untidy {
  readonly blocks: readonly { readonly name: string; readonly rect: Rect }[];
  readonly wires: readonly (readonly [string, string])[];
  /** For each block the frame that it is in. */
  readonly frames: Readonly<Record<string, string>>;
}

export type Places = ReadonlyMap<string, Rect>;

/** The blocks to be laid out: all, or only some. */
export function untidy(graph: Graph, places: ReadonlyMap<string, Rect>, only?: ReadonlySet<string>): Untidy {
  const blocks = [...places]
    .filter(([name]) => !only || only.has(name))
    .map(([name, rect]) => ({ name, rect }));
  const names = new Set(blocks.map(({ name }) => name));
  const pairs = new Map(
    graph.wires.map(({ from, to }) => [`${from.block} ${to.block}`, [from.block, to.block] as const]),
  );
  const wires = [...pairs.values()].filter(([from, to]) => from !== to && names.has(from) && names.has(to));
  const frames: Record<string, string> = {};
  for (const [frame, { blocks: inside }] of Object.entries(graph.document.frames ?? {})) {
    for (const block of inside ?? []) if (names.has(block)) frames[block] ??= frame;
  }
  return { blocks, wires, frames };
}

/** A simpler layout that takes no time: columns by depth, each sorted by where its wires come from. */
export function columns(given: Untidy): Places {
  const depth = depthsOf(given);
  const byDepth = new Map<number, { name: string; rect: Rect }[]>();
  for (const block of given.blocks) {
    const column = depth.get(block.name) ?? 0;
    byDepth.set(column, [...(byDepth.get(column) ?? []), block]);
  }
  const into = new Map<string, string[]>();
  for (const [from, to] of given.wires) into.set(to, [...(into.get(to) ?? []), from]);
  const placed = new Map<string, Rect>();
  for (const column of [...byDepth.keys()].sort((a, b) => a - b)) {
    const middle = ({ name, rect }: { name: string; rect: Rect }): number => {
      const ys = (into.get(name) ?? []).flatMap((each) => placed.get(each)?.y ?? []);
      return ys.length ? ys.reduce((sum, y) => sum + y, 0) / ys.length : rect.y;
    };
    let y = 0;
    for (const { name, rect } of [...(byDepth.get(column) ?? [])].sort((a, b) => middle(a) - middle(b))) {
      placed.set(name, { ...rect, x: column * (BLOCK_WIDTH + COLUMN_GAP), y });
      y += rect.height + GAP;
    }
  }
  return atCorner(given, [...placed]);
}

function depthsOf({ blocks, wires }: Untidy): Map<string, number> {
  const left = new Map(blocks.map(({ name }) => [name, 0]));
  const next = new Map<string, string[]>();
  for (const [from, to] of wires) {
    left.set(to, (left.get(to) ?? 0) + 1);
    next.set(from, [...(next.get(from) ?? []), to]);
  }
  const depth = new Map(blocks.map(({ name }) => [name, 0]));
  const ready = blocks.map(({ name }) => name).filter((name) => left.get(name) === 0);
  for (const name of ready) {
    for (const to of next.get(name) ?? []) {
      depth.set(to, Math.max(depth.get(to) ?? 0, (depth.get(name) ?? 0) + 1));
      left.set(to, (left.get(to) ?? 0) - 1);
      if (left.get(to) === 0) ready.push(to);
    }
  }
  return depth;
}

/** The whole keeps its left top corner. */
export function atCorner({ blocks }: Untidy, placed: readonly [string, Rect][]): Places {
  const least = (rects: readonly Rect[], axis: "x" | "y"): number =>
    rects.reduce((low, rect) => Math.min(low, rect[axis]), Infinity);
  const [old, fresh] = [blocks.map(({ rect }) => rect), placed.map(([, rect]) => rect)];
  const [dx, dy] = [least(old, "x") - least(fresh, "x"), least(old, "y") - least(fresh, "y")];
  return new Map(
    placed.map(([name, rect]) => [name, { ...rect, x: onGrid(rect.x + dx), y: onGrid(rect.y + dy) }]),
  );
}
