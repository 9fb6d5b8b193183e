/** Routes of wires around blocks: a wire that passed behind a block would seem to come from it. */

import {
  bounds,
  type Curve,
  curveBetween,
  curveBounds,
  type Point,
  pointOn,
  type Rect,
  type SpatialIndex,
} from "./geometry.ts";

/** The distance that a route keeps from blocks. */
const CLEARANCE = 14;
/** How far a route runs on beside a block before it turns. */
const TURN = 28;
const MAX_ROUNDS = 6;
const SAMPLES = 24;

/** The curves of a wire from an output to an input: direct, or around blocks that would be crossed. */
export function routeAround(from: Point, to: Point, blocks: SpatialIndex, ends: readonly string[]): Curve[] {
  const direct = [curveBetween(from, to)];
  const own = new Set(ends);
  if (crossed(direct, blocks, own).length === 0) return direct;
  let best = direct;
  let fewest = Infinity;
  for (const side of ["above", "below"] as const) {
    let curves: Curve[] = direct;
    const obstacles = new Map<string, Rect>();
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const hit = crossed(curves, blocks, own);
      // The shorter of two free routes is taken.
      const worth = hit.length * 1e6 + detour(curves, from, to);
      if (worth < fewest) [best, fewest] = [curves, worth];
      if (hit.length === 0) break;
      for (const name of hit) obstacles.set(name, blocks.get(name) as Rect);
      curves = along(from, to, [...obstacles.values()], side, blocks, own);
    }
  }
  return best;
}

/** Three pieces: to a horizontal line above or below obstacles, along it, and to the end. */
function along(
  from: Point,
  to: Point,
  obstacles: readonly Rect[],
  side: "above" | "below",
  blocks: SpatialIndex,
  own: ReadonlySet<string>,
): Curve[] {
  const around = bounds(obstacles) as Rect;
  const forward = to.x > from.x + 2 * TURN;
  const start = forward ? Math.max(from.x + TURN, Math.min(around.x - TURN, to.x - TURN)) : from.x + TURN;
  const end = forward ? Math.min(to.x - TURN, Math.max(around.x + around.width + TURN, start)) : to.x - TURN;
  const [left, right] = [Math.min(start, end), Math.max(start, end)];
  let y = side === "above" ? around.y - CLEARANCE : around.y + around.height + CLEARANCE;
  // The line is moved until it is free: a block on it pushes it further.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const there = blocks.search({ x: left, y: y - CLEARANCE / 2, width: right - left, height: CLEARANCE });
    const rects = [...there]
      .filter((name) => !(forward && own.has(name)))
      .map((name) => blocks.get(name) as Rect);
    if (rects.length === 0) break;
    const wall = bounds(rects) as Rect;
    y = side === "above" ? wall.y - CLEARANCE : wall.y + wall.height + CLEARANCE;
  }
  const [a, b] = [
    { x: start, y },
    { x: end, y },
  ];
  return [turn(from, a, forward ? 1 : -1, true), straight(a, b), turn(b, to, forward ? 1 : -1, false)];
}

/** A curve between an end of the wire, where it runs to the right, and the line, where it runs in a direction. */
function turn(from: Point, to: Point, direction: 1 | -1, starts: boolean): Curve {
  const pull = Math.max(TURN, Math.min(Math.abs(to.x - from.x), 80) / 2);
  const [first, last] = starts ? [1, direction] : [direction, 1];
  return [from, { x: from.x + first * pull, y: from.y }, { x: to.x - last * pull, y: to.y }, to];
}

function straight(a: Point, b: Point): Curve {
  const between = (part: number) => ({ x: a.x + (b.x - a.x) * part, y: a.y + (b.y - a.y) * part });
  return [a, between(1 / 3), between(2 / 3), b];
}

/** The blocks that curves run through, but those at their ends. */
export function crossed(curves: readonly Curve[], blocks: SpatialIndex, ends: ReadonlySet<string>): string[] {
  const found = new Set<string>();
  for (const curve of curves) {
    const near = [...blocks.search(curveBounds(curve))].filter((name) => !ends.has(name) && !found.has(name));
    if (near.length === 0) continue;
    for (let i = 1; i < SAMPLES; i++) {
      const { x, y } = pointOn(curve, i / SAMPLES);
      for (const name of near) {
        const rect = blocks.get(name) as Rect;
        const inside = x > rect.x - 4 && x < rect.x + rect.width + 4 && y > rect.y - 4;
        if (inside && y < rect.y + rect.height + 4) found.add(name);
      }
    }
  }
  return [...found];
}

/** How far a route leads away from its ends. */
function detour(curves: readonly Curve[], from: Point, to: Point): number {
  const [low, high] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
  return Math.max(...curves.map(([, , , { y }]) => Math.max(low - y, y - high, 0)));
}
