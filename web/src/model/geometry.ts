/**
 * Geometry of the canvas: rectangles, wires, a spatial index. Sizes are computed, never measured, so that thousands of
 * blocks can be placed, drawn and hit-tested without a layout pass of the browser.
 */

import type { PageDocument } from "./document.ts";
import { inputKey } from "./document.ts";
import { type BlockView, depths, type Graph, type Wire } from "./graph.ts";
import { columnLayout, layoutInput } from "./layout.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Rect extends Point {
  readonly width: number;
  readonly height: number;
}

export const BLOCK_WIDTH = 200;
export const TITLE_HEIGHT = 28;
export const ROW_HEIGHT = 22;
export const FOOTER_HEIGHT = 40;
/** The grid that positions snap to. */
export const GRID = 8;
/** The gap between blocks in an automatic layout. */
export const GAP = 32;
/** The gap between columns, with room for wire labels. */
export const COLUMN_GAP = 112;

const DEFAULT_SIZES = {
  frames: { width: 400, height: 300 },
  notes: { width: 240, height: 120 },
  monitors: { width: 320, height: 200 },
} as const;

export function snapToGrid(value: number): number {
  return rounded(value / GRID) * GRID;
}

/** The nearest integer, and never -0, which JSON writes as 0. */
export function rounded(value: number): number {
  return Math.round(value) + 0;
}

// -- blocks -----------------------------------------------------------------------------------

/** The number of pin rows, with an input and an output in each; rows of attributes follow. */
export function pinRows(view: BlockView): number {
  return Math.max(view.inputs.length, view.outputs.length);
}

export function blockHeight(view: BlockView): number {
  return TITLE_HEIGHT + (pinRows(view) + view.rows.length) * ROW_HEIGHT + FOOTER_HEIGHT;
}

export function inputOffset(view: BlockView, key: string): Point {
  const row = view.inputs.findIndex((pin) => pin.key === key);
  return { x: 0, y: row < 0 ? TITLE_HEIGHT / 2 : TITLE_HEIGHT + (row + 0.5) * ROW_HEIGHT };
}

export function outputOffset(view: BlockView, key: string): Point {
  const row = view.outputs.findIndex((pin) => pin.key === key);
  return { x: BLOCK_WIDTH, y: row < 0 ? TITLE_HEIGHT / 2 : TITLE_HEIGHT + (row + 0.5) * ROW_HEIGHT };
}

/**
 * The rectangles of all blocks. Blocks without a position are placed in columns below the others; a page without any is
 * laid out.
 */
export function blockRects(graph: Graph): Map<string, Rect> {
  const places = new Map<string, Rect>();
  const homeless: BlockView[] = [];
  const given = graph.document.layout?.blocks ?? {};
  for (const view of graph.blocks.values()) {
    const at = pointOf(given[view.name]);
    if (at) places.set(view.name, { ...at, width: BLOCK_WIDTH, height: blockHeight(view) });
    else homeless.push(view);
  }
  if (homeless.length) placeInColumns(graph, homeless, places);
  if (homeless.length < graph.blocks.size) return places;
  return new Map(columnLayout(layoutInput(graph, places)).places);
}

function placeInColumns(graph: Graph, views: readonly BlockView[], places: Map<string, Rect>): void {
  const around = bounds(places.values());
  const top = around ? around.y + around.height + GAP : 0;
  const depth = depths(graph);
  const bottoms = new Map<number, number>();
  for (const view of views) {
    const column = depth.get(view.name) ?? 0;
    const y = bottoms.get(column) ?? top;
    const height = blockHeight(view);
    places.set(view.name, {
      x: (around?.x ?? 0) + column * (BLOCK_WIDTH + COLUMN_GAP),
      y,
      width: BLOCK_WIDTH,
      height,
    });
    bottoms.set(column, y + height + GAP);
  }
}

function pointOf(value: readonly number[] | undefined): Point | undefined {
  const [x, y] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  return typeof x === "number" && typeof y === "number" ? { x, y } : undefined;
}

/** The nearest free position at or below a point for a rectangle of this size. */
export function freePosition(
  places: Iterable<Rect>,
  wanted: Point,
  height: number,
  width = BLOCK_WIDTH,
): Point {
  const others = [...places];
  let y = snapToGrid(wanted.y);
  const x = snapToGrid(wanted.x);
  for (;;) {
    const here = { x, y, width, height };
    const covered = others.filter((each) => overlaps(each, here));
    if (!covered.length) return { x, y };
    y = Math.max(y + GRID, snapToGrid(Math.max(...covered.map((each) => each.y + each.height)) + GAP));
  }
}

// -- frames, notes, monitors ------------------------------------------------------------------

export type BoxSection = keyof typeof DEFAULT_SIZES;

/** The rectangle of a frame, note or monitor. By default a frame surrounds its blocks; others are below all blocks. */
export function boxRect(
  document: PageDocument,
  kind: BoxSection,
  name: string,
  blocks?: ReadonlyMap<string, Rect>,
): Rect {
  const given = document.layout?.[kind]?.[name];
  const at = pointOf(given);
  const [, , width, height] = Array.isArray(given) ? (given as readonly unknown[]) : [];
  const size = {
    width: typeof width === "number" && width > 0 ? width : DEFAULT_SIZES[kind].width,
    height: typeof height === "number" && height > 0 ? height : DEFAULT_SIZES[kind].height,
  };
  if (at) return { ...at, ...size };
  if (kind === "frames" && blocks)
    return frameAround((document.frames?.[name]?.blocks ?? []).map((each) => blocks.get(each)));
  const around = bounds(blocks?.values() ?? []);
  const place = Object.keys(document[kind] ?? {}).indexOf(name);
  return {
    x: (around?.x ?? 0) + place * (size.width + GAP),
    y: around ? around.y + around.height + GAP : 0,
    ...size,
  };
}

/** Whether a monitor stands on the page: it has a place there. All others stand in the panel. */
export function isOnPage(document: PageDocument, monitor: string): boolean {
  return document.layout?.monitors?.[monitor] !== undefined;
}

/** A frame around rectangles, with room for its title. */
export function frameAround(rects: Iterable<Rect | undefined>): Rect {
  const around = bounds(rects);
  if (!around) return { x: 0, y: 0, ...DEFAULT_SIZES.frames };
  return { x: around.x - 24, y: around.y - 48, width: around.width + 48, height: around.height + 72 };
}

/** The bounding box. */
export function bounds(rects: Iterable<Rect | undefined>): Rect | undefined {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const rect of rects) {
    if (!rect) continue;
    left = Math.min(left, rect.x);
    top = Math.min(top, rect.y);
    right = Math.max(right, rect.x + rect.width);
    bottom = Math.max(bottom, rect.y + rect.height);
  }
  return left === Infinity ? undefined : { x: left, y: top, width: right - left, height: bottom - top };
}

/** The rectangle with these opposite corners. */
export function rectBetween(a: Point, b: Point): Rect {
  return {
    x: Math.min(a.x, b.x),
    y: Math.min(a.y, b.y),
    width: Math.abs(a.x - b.x),
    height: Math.abs(a.y - b.y),
  };
}

export function contains(rect: Rect, point: Point): boolean {
  return (
    point.x >= rect.x &&
    point.x <= rect.x + rect.width &&
    point.y >= rect.y &&
    point.y <= rect.y + rect.height
  );
}

export function overlaps(a: Rect, b: Rect): boolean {
  return a.x <= b.x + b.width && b.x <= a.x + a.width && a.y <= b.y + b.height && b.y <= a.y + a.height;
}

export function encloses(outer: Rect, inner: Rect): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  );
}

// -- spatial index------------------------------------------------------------------------------

const CELL = 256;
/** A rectangle in more grid cells than this is tested in every query: long wires would fill the grid. */
const MAX_CELLS = 64;

/** A spatial hash of named rectangles. */
export class SpatialIndex {
  private readonly cells = new Map<number, Set<string>>();
  private readonly large = new Set<string>();
  private readonly rects = new Map<string, Rect>();

  constructor(rects: Iterable<readonly [string, Rect]> = []) {
    for (const [name, rect] of rects) this.set(name, rect);
  }

  get(name: string): Rect | undefined {
    return this.rects.get(name);
  }

  set(name: string, rect: Rect): void {
    this.delete(name);
    this.rects.set(name, rect);
    if (cellCount(rect) > MAX_CELLS) this.large.add(name);
    else {
      for (const key of cellsOf(rect)) {
        const cell = this.cells.get(key);
        if (cell) cell.add(name);
        else this.cells.set(key, new Set([name]));
      }
    }
  }

  delete(name: string): void {
    const rect = this.rects.get(name);
    if (!rect) return;
    if (!this.large.delete(name)) for (const key of cellsOf(rect)) this.cells.get(key)?.delete(name);
    this.rects.delete(name);
  }

  /** The names of rectangles that overlap this one. */
  search(rect: Rect): Set<string> {
    const found = new Set<string>();
    for (const name of this.candidates(rect))
      if (overlaps(this.rects.get(name) as Rect, rect)) found.add(name);
    return found;
  }

  /** The topmost rectangle at a point: the one added last. */
  hitTest(point: Point): string | undefined {
    let found: string | undefined;
    for (const name of this.candidates({ ...point, width: 0, height: 0 })) {
      if (contains(this.rects.get(name) as Rect, point)) found = name;
    }
    return found;
  }

  private *candidates(rect: Rect): Iterable<string> {
    if (cellCount(rect) > this.cells.size) yield* this.rects.keys();
    else {
      yield* this.large;
      for (const key of cellsOf(rect)) yield* this.cells.get(key) ?? [];
    }
  }
}

function cellCount(rect: Rect): number {
  return (rect.width / CELL + 1) * (rect.height / CELL + 1);
}

function* cellsOf(rect: Rect): Iterable<number> {
  const [right, bottom] = [
    Math.floor((rect.x + rect.width) / CELL),
    Math.floor((rect.y + rect.height) / CELL),
  ];
  for (let x = Math.floor(rect.x / CELL); x <= right; x++) {
    for (let y = Math.floor(rect.y / CELL); y <= bottom; y++) yield x * 0x10000 + y;
  }
}

// -- wires ------------------------------------------------------------------------------------

/** A cubic Bézier curve: end, two control points, end. */
export type Curve = readonly [Point, Point, Point, Point];

/** The curve of a wire, which leaves to the right and arrives from the left. */
export function curveBetween(from: Point, to: Point): Curve {
  const across = to.x - from.x;
  const pull =
    across >= 0
      ? Math.max(across / 2, Math.min(40, Math.abs(to.y - from.y)))
      : Math.min(160, 40 - across / 3);
  return [from, { x: from.x + pull, y: from.y }, { x: to.x - pull, y: to.y }, to];
}

/** The curves of a wire through its bend points. */
export function curvesBetween(points: readonly Point[]): Curve[] {
  return points.slice(1).map((to, place) => curveBetween(points[place] as Point, to));
}

/** The bend points of a wire. */
export function bendsOf(document: PageDocument, wire: Wire): Point[] {
  const given = document.layout?.wires?.[wire.id];
  return Array.isArray(given)
    ? given.map((each) => pointOf(each as number[])).filter((each) => each !== undefined)
    : [];
}

export function wireEnds(
  graph: Graph,
  places: ReadonlyMap<string, Rect>,
  wire: Wire,
): [Point, Point] | undefined {
  const [from, to] = [graph.blocks.get(wire.from.block), graph.blocks.get(wire.to.block)];
  const [start, end] = [places.get(wire.from.block), places.get(wire.to.block)];
  if (!from || !to || !start || !end) return undefined;
  const out = wire.order
    ? { x: BLOCK_WIDTH, y: TITLE_HEIGHT / 2 }
    : outputOffset(from, wire.from.pin === undefined ? "" : inputKey(wire.from.pin, wire.from.index));
  const into = wire.order
    ? { x: 0, y: TITLE_HEIGHT / 2 }
    : inputOffset(to, inputKey(wire.to.pin, wire.to.index));
  return [
    { x: start.x + out.x, y: start.y + out.y },
    { x: end.x + into.x, y: end.y + into.y },
  ];
}

export function pointOn([a, b, c, d]: Curve, t: number): Point {
  const s = 1 - t;
  const [wa, wb, wc, wd] = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
  return { x: wa * a.x + wb * b.x + wc * c.x + wd * d.x, y: wa * a.y + wb * b.y + wc * c.y + wd * d.y };
}

/** The bounding box of the control points, which contains the curve. */
export function curveBounds(curve: Curve): Rect {
  const [xs, ys] = [curve.map((p) => p.x), curve.map((p) => p.y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/** The distance of a point from a curve. */
export function distanceTo(curve: Curve, point: Point): number {
  const pieces = 16;
  let least = Infinity;
  let last = curve[0];
  for (let piece = 1; piece <= pieces; piece++) {
    const next = pointOn(curve, piece / pieces);
    least = Math.min(least, distanceToLine(last, next, point));
    last = next;
  }
  return least;
}

function distanceToLine(a: Point, b: Point, p: Point): number {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const length = dx * dx + dy * dy;
  const t = length === 0 ? 0 : Math.max(0, Math.min(1, ((p.x - a.x) * dx + (p.y - a.y) * dy) / length));
  return Math.hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/** Whether a polyline intersects a curve. */
export function intersectsLine(curves: readonly Curve[], line: readonly Point[]): boolean {
  return curves.some((curve) => {
    const points = Array.from({ length: 17 }, (_, i) => pointOn(curve, i / 16));
    return points
      .slice(1)
      .some((end, i) =>
        line.slice(1).some((to, j) => segmentsIntersect(points[i] as Point, end, line[j] as Point, to)),
      );
  });
}

function segmentsIntersect(a: Point, b: Point, c: Point, d: Point): boolean {
  const side = (p: Point, q: Point, r: Point) => (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x);
  return side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
}
