/** Input and result of automatic layout, and the fast column layout for large pages. `dagre-layout.ts` has the better one. */

import { BLOCK_WIDTH, COLUMN_GAP, GAP, type Point, type Rect, snapToGrid } from "./geometry.ts";
import type { Graph } from "./graph.ts";

/** The input of a layout: plain data that can be posted to a worker. */
export interface LayoutInput {
  readonly blocks: readonly { readonly name: string; readonly rect: Rect }[];
  readonly wires: readonly (readonly [string, string])[];
  /** The frame of each block. */
  readonly frames: Readonly<Record<string, string>>;
}

export type Places = ReadonlyMap<string, Rect>;

/** Rectangles of blocks, and bend points of wires by "from to". */
export interface LayoutResult {
  readonly places: Places;
  readonly bends: ReadonlyMap<string, readonly Point[]>;
}

/** The layout input of all blocks, or only of some. */
export function layoutInput(
  graph: Graph,
  places: ReadonlyMap<string, Rect>,
  only?: ReadonlySet<string>,
): LayoutInput {
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

interface Box {
  readonly name: string;
  readonly rect: Rect;
}

/** Sweeps over all columns: more change hardly anything. */
const SWEEPS = 6;

/** A fast layered layout: columns by depth, blocks within a column at the barycentre of their neighbours. */
export function columnLayout(given: LayoutInput): LayoutResult {
  const before = grouped(given.wires.map(([from, to]) => [to, from]));
  const behind = grouped(given.wires);
  const stacks = columnsOf(given);
  const middles = new Map(given.blocks.map(({ name, rect }) => [name, rect.y + rect.height / 2]));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const stack of stacks) relaxColumn(stack, before, middles);
    for (const stack of stacks.toReversed()) relaxColumn(stack, behind, middles);
  }
  const placed = stacks.flatMap((stack, column) =>
    stack.map(({ name, rect }): [string, Rect] => {
      const y = (middles.get(name) as number) - rect.height / 2;
      return [name, { ...rect, x: column * (BLOCK_WIDTH + COLUMN_GAP), y }];
    }),
  );
  return keepCorner(given, placed);
}

function grouped(pairs: LayoutInput["wires"]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [key, each] of pairs) {
    const group = groups.get(key);
    if (group) group.push(each);
    else groups.set(key, [each]);
  }
  return groups;
}

function columnsOf(given: LayoutInput): Box[][] {
  const depth = depthsOf(given);
  const stacks: Box[][] = [];
  for (const block of given.blocks.toSorted((a, b) => a.rect.y - b.rect.y)) {
    const column = depth.get(block.name) ?? 0;
    while (stacks.length <= column) stacks.push([]);
    stacks[column]?.push(block);
  }
  return stacks;
}

/** Sorts a column by the barycentre of each block's neighbours, and moves blocks there without overlap. */
function relaxColumn(
  stack: Box[],
  pulling: ReadonlyMap<string, string[]>,
  middles: Map<string, number>,
): void {
  const middle = (name: string) => middles.get(name) ?? 0;
  const wanted = new Map(
    stack.map(({ name }) => [name, mean((pulling.get(name) ?? []).map(middle)) ?? middle(name)]),
  );
  const want = ({ name }: Box) => wanted.get(name) as number;
  stack.sort((a, b) => want(a) - want(b));
  let bottom = -Infinity;
  for (const box of stack) {
    const top = Math.max(want(box) - box.rect.height / 2, bottom);
    middles.set(box.name, top + box.rect.height / 2);
    bottom = top + box.rect.height + GAP;
  }
  // Blocks were only pushed down: move the column back up by the mean.
  const down = mean(stack.map((box) => middle(box.name) - want(box))) ?? 0;
  for (const { name } of stack) middles.set(name, middle(name) - down);
}

function mean(numbers: readonly number[]): number | undefined {
  return numbers.length ? numbers.reduce((sum, each) => sum + each, 0) / numbers.length : undefined;
}

/** The longest distance of each block from a source; sources are placed next to their first consumer. */
function depthsOf({ blocks, wires }: LayoutInput): Map<string, number> {
  const left = new Map(blocks.map(({ name }) => [name, 0]));
  const next = grouped(wires);
  for (const [, to] of wires) left.set(to, (left.get(to) ?? 0) + 1);
  const depth = new Map(blocks.map(({ name }) => [name, 0]));
  const ready = blocks.map(({ name }) => name).filter((name) => left.get(name) === 0);
  const sources = [...ready];
  for (const name of ready) {
    for (const to of next.get(name) ?? []) {
      depth.set(to, Math.max(depth.get(to) ?? 0, (depth.get(name) ?? 0) + 1));
      left.set(to, (left.get(to) ?? 0) - 1);
      if (left.get(to) === 0) ready.push(to);
    }
  }
  for (const name of sources) {
    const users = (next.get(name) ?? []).map((to) => depth.get(to) ?? 0);
    if (users.length) depth.set(name, Math.max(0, Math.min(...users) - 1));
  }
  return depth;
}

/** Moves a layout to the top left corner of the old one. */
export function keepCorner(
  { blocks }: LayoutInput,
  placed: readonly [string, Rect][],
  bent: readonly [string, readonly Point[]][] = [],
): LayoutResult {
  const least = (rects: readonly Rect[], axis: "x" | "y"): number =>
    rects.reduce((low, rect) => Math.min(low, rect[axis]), Infinity);
  const [old, fresh] = [blocks.map(({ rect }) => rect), placed.map(([, rect]) => rect)];
  const [dx, dy] = [least(old, "x") - least(fresh, "x"), least(old, "y") - least(fresh, "y")];
  const moved = <At extends Point>(at: At): At => ({
    ...at,
    x: snapToGrid(at.x + dx),
    y: snapToGrid(at.y + dy),
  });
  return {
    places: new Map(placed.map(([name, rect]) => [name, moved(rect)])),
    bends: new Map(bent.map(([wire, points]) => [wire, points.map(moved)])),
  };
}
