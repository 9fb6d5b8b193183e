/** Layout of a heatmap: tiles of rows and columns of cells, hit testing, the visible range and keyboard moves. */

import { type Arrangement, type GridRole, roleSize, shownTiles, tileLimits } from "./axis-roles.ts";
import { type AxisSlice, sliceSize, type TensorSlice } from "./slices.ts";

/** The least width of a cell that shows its number. */
export const MIN_NUMBER_WIDTH = 28;
/** The least width of a cell with grid lines and markers. */
export const MIN_MARKER_WIDTH = 6;
const MAX_WIDTH = 96;
const GAP = 10;
/** The margin around all tiles. */
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
  /** The tiles from left to right and from top to bottom, by their index on the axis; -1 is a gap. */
  readonly across: readonly number[];
  readonly down: readonly number[];
  readonly cell: Size;
  /** The distance from one tile to the next. */
  readonly pitch: Size;
  /** The height of the label above each tile; 0 if there is just one tile. */
  readonly label: number;
  readonly whole: Size;
}

/** The size of a cell of this width. Numbers need less height than width. */
export function cellSize(width: number): Size {
  const height = width <= MIN_NUMBER_WIDTH ? width : MIN_NUMBER_WIDTH + (width - MIN_NUMBER_WIDTH) / 4;
  return { width, height };
}

/** The least width and height of a tile: a single row of a million cells is a band. */
const MIN_TILE = 16;
/** The width and height of tiles if there are too many in both directions. */
const SMALL_TILE = 48;

/** The size of a cell of this width, enlarged where a tile would be too thin. */
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
 * The largest cells with which all tiles fit into a view, maybe smaller than a pixel. Where tiles would be thinner than
 * MIN_TILE they fit in the other direction alone or, if they fit in neither, are SMALL_TILE.
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

/** Rounds to whole pixels a cell, or whole cells a pixel. */
function snapToPixels(size: number, pixel: number): number {
  if (size >= 4) return Math.min(MAX_WIDTH, Math.floor(size));
  if (size >= pixel) return Math.floor(size / pixel) * pixel;
  return pixel / Math.ceil(pixel / Math.max(size, 1e-9));
}

/** The top left corner of a cell; undefined if it is in another slice or in a gap. */
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

/** Hit test: the cell at a point; undefined between tiles and outside. */
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

/** The scrolled part of the layout, in pixels. */
export interface ScrollRect extends Size {
  readonly x: number;
  readonly y: number;
}

/** The tiles and cells that a scroll rectangle touches: indices into `across` and `down`, rows and columns. */
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

/** One direction of the layout, and the visible interval of it. */
interface TileAxis {
  from: number;
  to: number;
  pitch: number;
  tiles: number;
  /** The space before the first cell of each tile. */
  before: number;
  cell: number;
  cells: number;
}

/** The visible tiles and cells in one direction; all cells if more than one tile is visible. */
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

/** Sampling: every n-th row and column is fetched. */
export interface Sampling {
  readonly rows: number;
  readonly columns: number;
}

/** One cell for each pixel is enough. */
export function samplingFor({ cell }: TileLayout, pixel: number): Sampling {
  const step = (size: number): number => Math.max(1, Math.round(pixel / size));
  return { rows: step(cell.height), columns: step(cell.width) };
}

/** The most cells of a fetch, so that an answer stays below 2^20 bytes. */
export const MAX_FETCHED = 1_000_000;

/** The sampling with fewer rows, so that at most MAX_FETCHED cells are fetched. */
export function samplingWithin(tiles: TileLayout, seen: VisibleRange, steps: Sampling): Sampling {
  const count = visibleSlices(tiles, seen, steps).reduce((sum, box) => sum + sliceSize(box), 0);
  return count <= MAX_FETCHED ? steps : { ...steps, rows: steps.rows * Math.ceil(count / MAX_FETCHED) };
}

/** The slices of the tensor that are visible: one for each run of tiles between gaps. */
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

/** Aligned to the step, so that scrolling keeps the same samples. */
function sampled({ first, end }: AxisSlice, step: number): AxisSlice {
  return { first: first - (first % step), end, step };
}

/** Runs of consecutive indices. */
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

/** The visible range with overscan, so that small scrolls need no fetch. */
export function withOverscan(tiles: TileLayout, seen: VisibleRange): VisibleRange {
  const wider = ({ first, end }: AxisSlice, size: number): AxisSlice => {
    const margin = Math.ceil((end - first) / 2);
    return span(Math.max(0, first - margin), Math.min(size, end + margin));
  };
  return { ...seen, rows: wider(seen.rows, tiles.rows), columns: wider(seen.columns, tiles.columns) };
}

export type CursorMove = "left" | "right" | "up" | "down" | "first" | "last" | "start" | "end";

/** The keys that move the cursor. */
export const CURSOR_KEYS: Readonly<Record<string, CursorMove>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "first",
  End: "last",
};

/** The cell after a cursor move. Beyond the edge of a tile comes the next tile. */
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
    // At the last tile the cursor stays.
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

/** The arrangement that shows a cell: sliders and tiles at its indices. */
export function revealCell(arrangement: Arrangement, cell: readonly number[]): Arrangement {
  const { roles, at } = arrangement;
  const shown = (axis: number) => axis === roles.rows || axis === roles.columns;
  const next = at.map((place, axis) => (shown(axis) ? place : (cell[axis] as number)));
  return next.every((place, axis) => place === at[axis]) ? arrangement : { roles, at: next };
}
