/** Where the cells of a tensor stand on a plane, and which of them a part of the plane shows. */

import { type Arrangement, type GridRole, roleSize, shownTiles, tileLimits } from "./axis-roles.ts";
import { type AxisSlice, sliceSize, type TensorSlice } from "./slices.ts";

/** Below this width of a cell there is no room for its number. */
export const MIN_NUMBER_WIDTH = 28;
/** Below this there is no room for a line between cells or a shape in one. */
export const MIN_GLYPH_WIDTH = 6;
const MAX_WIDTH = 64;
const GAP = 10;
/** Room around all tiles. */
export const EDGE = 8;
const LABEL = 16;

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface TileLayout {
  readonly shape: readonly number[];
  readonly arrangement: Arrangement;
  readonly rows: number;
  readonly columns: number;
  /** The tiles from left to right and from top to bottom, by their place on the axis; -1 is a gap. */
  readonly across: readonly number[];
  readonly down: readonly number[];
  readonly cell: Size;
  /** From one tile to the next. */
  readonly pitch: Size;
  /** Room above each tile for its name; none if there is just one. */
  readonly label: number;
  readonly whole: Size;
}

/** A cell that is `width` wide. Numbers need less height than width. */
export function cellSize(width: number): Size {
  const height = width <= MIN_NUMBER_WIDTH ? width : MIN_NUMBER_WIDTH + (width - MIN_NUMBER_WIDTH) / 4;
  return { width, height };
}

/** So high is a tile at least, and so wide: a single row of a million cells is a band. */
const MIN_TILE = 16;
/** So wide and high are tiles of which too many stand side by side and below each other. */
const SMALL_TILE = 48;

/** Cells that are `width` wide, or wider and higher where a tile would be too thin to be seen. */
export function cellSizeFor(shape: readonly number[], { roles }: Arrangement, width: number): Size {
  const size = cellSize(width);
  return {
    width: Math.max(size.width, MIN_TILE / Math.max(1, roleSize(roles, "columns", shape))),
    height: Math.max(size.height, MIN_TILE / Math.max(1, roleSize(roles, "rows", shape))),
  };
}

export function tileLayout(shape: readonly number[], arrangement: Arrangement, cell: Size): TileLayout {
  const { roles, at } = arrangement;
  const size = (place: GridRole): number => roleSize(roles, place, shape);
  const focus = (place: GridRole): number => (roles[place] === null ? 0 : (at[roles[place]] as number));
  const [mostAcross, mostDown] = tileLimits(size("across"), size("down"));
  const across = shownTiles(size("across"), mostAcross, focus("across"));
  const down = shownTiles(size("down"), mostDown, focus("down"));
  const [rows, columns] = [size("rows"), size("columns")];
  const several = roles.across !== null || roles.down !== null;
  const label = several ? LABEL : 0;
  const gap = several ? GAP : 0;
  const pitch = { width: columns * cell.width + gap, height: rows * cell.height + label + gap };
  const whole = {
    width: Math.max(0, across.length * pitch.width - gap) + 2 * EDGE,
    height: Math.max(0, down.length * pitch.height - gap) + 2 * EDGE,
  };
  return { shape, arrangement, rows, columns, across, down, cell, pitch, label, whole };
}

/**
 * The largest cells with which all tiles fit into a view; smaller than a pixel if there are too many. Where tiles would
 * be too small to be seen they do not all fit: they are as large as fits the other way, or small if neither does.
 */
export function cellSizeToFit(
  shape: readonly number[],
  arrangement: Arrangement,
  view: Size,
  pixel: number,
): Size {
  const none = tileLayout(shape, arrangement, { width: 0, height: 0 });
  const across = (view.width - none.whole.width) / Math.max(1, none.across.length);
  const down = (view.height - none.whole.height) / Math.max(1, none.down.length);
  const [fitAcross, fitDown] = [across >= MIN_TILE, down >= MIN_TILE];
  const wide = (fitAcross ? across : fitDown ? view.width : SMALL_TILE) / Math.max(1, none.columns);
  const high = (fitDown ? down : fitAcross ? view.height : SMALL_TILE) / Math.max(1, none.rows);
  const room = high <= MIN_NUMBER_WIDTH ? high : MIN_NUMBER_WIDTH + (high - MIN_NUMBER_WIDTH) * 4;
  const cell = cellSize(snapToPixels(Math.min(wide, room), pixel));
  const least = cellSizeFor(shape, arrangement, cell.width);
  return {
    width: Math.max(cell.width, snapToPixels(Math.min(wide, least.width), pixel)),
    height: Math.max(cell.height, snapToPixels(Math.min(high, least.height), pixel)),
  };
}

/** Whole pixels for a cell, or whole cells for a pixel. */
function snapToPixels(size: number, pixel: number): number {
  if (size >= 4) return Math.min(MAX_WIDTH, Math.floor(size));
  if (size >= pixel) return Math.floor(size / pixel) * pixel;
  return pixel / Math.ceil(pixel / Math.max(size, 1e-9));
}

/** The upper left corner of a cell; undefined if it is behind a slider or in a gap. */
export function cellPosition(
  tiles: TileLayout,
  cell: readonly number[],
): { x: number; y: number } | undefined {
  const { roles, at } = tiles.arrangement;
  if (roles.sliders.some((axis) => cell[axis] !== at[axis])) return undefined;
  const on = (place: GridRole): number => (roles[place] === null ? 0 : (cell[roles[place]] as number));
  const [i, j] = [tiles.across.indexOf(on("across")), tiles.down.indexOf(on("down"))];
  if (i < 0 || j < 0) return undefined;
  return {
    x: EDGE + i * tiles.pitch.width + on("columns") * tiles.cell.width,
    y: EDGE + j * tiles.pitch.height + tiles.label + on("rows") * tiles.cell.height,
  };
}

/** The cell at a point; undefined between tiles and outside. */
export function hitCell(tiles: TileLayout, x: number, y: number): number[] | undefined {
  const [i, j] = [Math.floor((x - EDGE) / tiles.pitch.width), Math.floor((y - EDGE) / tiles.pitch.height)];
  const [tileAcross, tileDown] = [tiles.across[i] ?? -1, tiles.down[j] ?? -1];
  const column = Math.floor((x - EDGE - i * tiles.pitch.width) / tiles.cell.width);
  const row = Math.floor((y - EDGE - j * tiles.pitch.height - tiles.label) / tiles.cell.height);
  const inside = row >= 0 && row < tiles.rows && column >= 0 && column < tiles.columns;
  if (tileAcross < 0 || tileDown < 0 || !inside) return undefined;
  return cellWith(tiles.arrangement, { rows: row, columns: column, across: tileAcross, down: tileDown });
}

export function cellWith(
  { roles, at }: Arrangement,
  places: Readonly<Partial<Record<GridRole, number>>>,
): number[] {
  const cell = [...at];
  for (const [place, value] of Object.entries(places)) {
    const axis = roles[place as GridRole];
    if (axis !== null) cell[axis] = value;
  }
  return cell;
}

/** The part of the plane that is seen, in pixels. */
export interface ScrollRect extends Size {
  readonly x: number;
  readonly y: number;
}

/** Tiles and the cells in them that a view touches: places in `across` and `down`, rows and columns. */
export type VisibleRange = Readonly<Record<GridRole, AxisSlice>>;

export function visibleRange(tiles: TileLayout, view: ScrollRect): VisibleRange {
  const { pitch, cell, label } = tiles;
  const [across, columns] = visibleAlong({
    from: view.x - EDGE,
    to: view.x - EDGE + view.width,
    pitch: pitch.width,
    tiles: tiles.across.length,
    before: 0,
    cell: cell.width,
    cells: tiles.columns,
  });
  const [down, rows] = visibleAlong({
    from: view.y - EDGE,
    to: view.y - EDGE + view.height,
    pitch: pitch.height,
    tiles: tiles.down.length,
    before: label,
    cell: cell.height,
    cells: tiles.rows,
  });
  return { across, columns, down, rows };
}

/** A stretch of one direction, and what stands along it. */
interface TileAxis {
  from: number;
  to: number;
  pitch: number;
  tiles: number;
  /** In front of the first cell of each tile. */
  before: number;
  cell: number;
  cells: number;
}

/** The tiles that a stretch touches, and their cells: all of them if there are more tiles than one. */
function visibleAlong({ from, to, pitch, tiles, before, cell, cells }: TileAxis): [AxisSlice, AxisSlice] {
  const first = clamp(Math.floor(from / pitch), 0, Math.max(tiles - 1, 0));
  const end = clamp(Math.ceil(to / pitch), first + 1, Math.max(tiles, 1));
  if (end - first > 1) return [span(first, end), span(0, cells)];
  const start = first * pitch + before;
  const least = clamp(Math.floor((from - start) / cell), 0, Math.max(cells - 1, 0));
  return [span(first, end), span(least, clamp(Math.ceil((to - start) / cell), least, cells))];
}

function span(first: number, end: number): AxisSlice {
  return { first, end, step: 1 };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

/** Every how many rows and columns there is one that is fetched. */
export interface Sampling {
  readonly rows: number;
  readonly columns: number;
}

/** Where several cells share a pixel, one of them is enough. */
export function samplingFor({ cell }: TileLayout, pixel: number): Sampling {
  const step = (size: number): number => Math.max(1, Math.round(pixel / size));
  return { rows: step(cell.height), columns: step(cell.width) };
}

/** So many cells are fetched at once as fit into 2^20 bytes with all else that is said of a tensor. */
export const MAX_FETCHED = 1_000_000;

/** The same, with rows left out where there would be too many cells to be fetched. */
export function samplingWithin(tiles: TileLayout, seen: VisibleRange, steps: Sampling): Sampling {
  const count = visibleSlices(tiles, seen, steps).reduce((sum, box) => sum + sliceSize(box), 0);
  return count <= MAX_FETCHED ? steps : { ...steps, rows: steps.rows * Math.ceil(count / MAX_FETCHED) };
}

/** The boxes of cells that are seen: one, or one for each run of tiles between gaps. */
export function visibleSlices(
  tiles: TileLayout,
  seen: VisibleRange,
  steps: Sampling = { rows: 1, columns: 1 },
): TensorSlice[] {
  const { roles, at } = tiles.arrangement;
  const runsOf = (places: readonly number[], { first, end }: AxisSlice): AxisSlice[] =>
    runs(places.slice(first, end));
  return runsOf(tiles.down, seen.down).flatMap((down) =>
    runsOf(tiles.across, seen.across).map((across) =>
      tiles.shape.map((_, axis): AxisSlice => {
        if (axis === roles.rows) return sampled(seen.rows, steps.rows);
        if (axis === roles.columns) return sampled(seen.columns, steps.columns);
        if (axis === roles.across) return across;
        return axis === roles.down ? down : span(at[axis] as number, (at[axis] as number) + 1);
      }),
    ),
  );
}

/** Places that are left out stay the same ones while the view moves. */
function sampled({ first, end }: AxisSlice, step: number): AxisSlice {
  return { first: first - (first % step), end, step };
}

/** Runs of places that follow each other. */
function runs(places: readonly number[]): AxisSlice[] {
  const found: { first: number; end: number; step: number }[] = [];
  for (const place of places) {
    const last = found.at(-1);
    if (place < 0) continue;
    if (last?.end === place) last.end++;
    else found.push({ first: place, end: place + 1, step: 1 });
  }
  return found;
}

/** What is seen with a margin, so that a small move needs nothing new. */
export function withOverscan(tiles: TileLayout, seen: VisibleRange): VisibleRange {
  const wider = ({ first, end }: AxisSlice, size: number): AxisSlice => {
    const margin = Math.ceil((end - first) / 2);
    return span(Math.max(0, first - margin), Math.min(size, end + margin));
  };
  return { ...seen, rows: wider(seen.rows, tiles.rows), columns: wider(seen.columns, tiles.columns) };
}

export type CursorMove = "left" | "right" | "up" | "down" | "first" | "last" | "start" | "end";

/** The keys that lead to other cells. */
export const CURSOR_KEYS: Readonly<Record<string, CursorMove>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "first",
  End: "last",
};

/** The cell one step further. Beyond the edge of a tile lies the next tile. */
export function moveCursor(
  { shape, arrangement: { roles } }: Pick<TileLayout, "shape" | "arrangement">,
  cell: readonly number[],
  step: CursorMove,
): number[] {
  const next = [...cell];
  const last = (axis: number | null) => set(axis, (shape[axis ?? 0] as number) - 1);
  const set = (axis: number | null, place: number): void => {
    if (axis !== null) next[axis] = place;
  };
  const move = (inner: number | null, outer: number | null, by: 1 | -1): void => {
    const axes = [inner, outer].filter((axis) => axis !== null);
    for (const axis of axes) {
      const place = (next[axis] as number) + by;
      const size = shape[axis] as number;
      if (place >= 0 && place < size) {
        next[axis] = place;
        return;
      }
      next[axis] = by > 0 ? 0 : size - 1;
    }
    // There is nothing further: stay.
    for (const axis of axes) next[axis] = cell[axis] as number;
  };
  if (step === "left" || step === "right") move(roles.columns, roles.across, step === "right" ? 1 : -1);
  else if (step === "up" || step === "down") move(roles.rows, roles.down, step === "down" ? 1 : -1);
  else if (step === "first" || step === "start") set(roles.columns, 0);
  else last(roles.columns);
  const others = [roles.rows, roles.across, roles.down];
  if (step === "start") for (const axis of others) set(axis, 0);
  if (step === "end") for (const axis of others) last(axis);
  return next;
}

/** The arrangement in which a cell is seen: sliders stand at it, and its tile is shown. */
export function revealCell(arrangement: Arrangement, cell: readonly number[]): Arrangement {
  const { roles, at } = arrangement;
  const shown = (axis: number) => axis === roles.rows || axis === roles.columns;
  const next = at.map((place, axis) => (shown(axis) ? place : (cell[axis] as number)));
  return next.every((place, axis) => place === at[axis]) ? arrangement : { roles, at: next };
}
