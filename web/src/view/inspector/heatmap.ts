/** The heatmap of one tensor on two canvases, cells below marks. It draws at most once a frame, outside of React. */

import type { Arrangement } from "../../model/axis-roles.ts";
import { colourIndices, type Range } from "../../model/colour-index.ts";
import { covers, sliceSize, type TensorSlice } from "../../model/slices.ts";
import {
  cellPosition,
  cellSizeFor,
  cellSizeToFit,
  hitCell,
  MAX_FETCHED,
  MIN_NUMBER_WIDTH,
  type ScrollRect,
  samplingFor,
  samplingWithin,
  type TileLayout,
  tileLayout,
  type VisibleRange,
  visibleRange,
  visibleSlices,
  withOverscan,
} from "../../model/tiles.ts";
import { contentOffset, scrollLength, scrollOffset } from "../../model/virtual-scroll.ts";
import { asNumbers, elementText, type Frame } from "../../net/frames.ts";
import { type Colours, readColours } from "../canvas/colours.ts";
import { type PaintedSlice, type Palette, paintCells, paletteFor } from "./heatmap-painter.ts";
import { type Mark, paintMarks } from "./marks.ts";
import type { TensorSource } from "./tensor-source.ts";

/** The content of a heatmap. */
export interface HeatmapContent {
  readonly pin: string;
  readonly shape: readonly number[];
  readonly axes: readonly string[];
  readonly source: TensorSource;
  readonly arrangement: Arrangement;
  readonly range: Range;
  readonly marks: readonly Mark[];
  /** The width of a cell; null to fit all cells. */
  readonly width: number | null;
}

/** Up to this many cells, exact numbers are fetched instead of colour indices. */
const MAX_EXACT = 1 << 14;

interface LoadedSlice {
  readonly box: TensorSlice;
  readonly frame: Frame | null;
  readonly shades: Uint8Array;
  readonly range: Range;
}

export class Heatmap {
  private shown: HeatmapContent | null = null;
  private tiles: TileLayout | null = null;
  private view: ScrollRect = { x: 0, y: 0, width: 0, height: 0 };
  private held: readonly LoadedSlice[] = [];
  private asked: readonly TensorSlice[] = [];
  private wanted = "";
  private asking = 0;
  /** Whether a request is pending. */
  private waiting = false;
  private frame = 0;
  private dirty = { cells: false, marks: false };
  private palette: Palette = paletteFor({ low: 0, high: 1 });
  private colours: Colours = readColours();
  private readonly stops: (() => void)[] = [];
  onFailed: (message: string) => void = () => {};

  constructor(
    private readonly scroller: HTMLElement,
    private readonly space: HTMLElement,
    private readonly cells: HTMLCanvasElement,
    private readonly marks: HTMLCanvasElement,
  ) {
    const resize = new ResizeObserver(() => this.resized());
    resize.observe(scroller);
    const theme = new MutationObserver(() => {
      this.colours = readColours();
      this.draw();
    });
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const scrolled = () => this.scrolled();
    scroller.addEventListener("scroll", scrolled);
    this.stops.push(
      () => resize.disconnect(),
      () => theme.disconnect(),
      () => scroller.removeEventListener("scroll", scrolled),
    );
  }

  end(): void {
    cancelAnimationFrame(this.frame);
    this.asking++;
    for (const stop of this.stops) stop();
  }

  set(shown: HeatmapContent): void {
    const before = this.shown;
    this.shown = shown;
    const other = before?.pin !== shown.pin || String(before.shape) !== String(shown.shape);
    if (other || before?.source !== shown.source) {
      this.wanted = "";
      this.asking++;
      this.waiting = false;
    }
    // Old values of the same tensor are shown until new ones are loaded; those of another tensor never.
    if (other) {
      this.held = [];
      this.scroller.ariaBusy = "true";
    }
    if (before === null || before.range.low !== shown.range.low || before.range.high !== shown.range.high) {
      this.palette = paletteFor(shown.range);
      this.held = this.held.map((held) => recoloured(held, shown.range));
    }
    const same =
      before !== null &&
      before.source === shown.source &&
      before.arrangement === shown.arrangement &&
      before.width === shown.width &&
      before.range.low === shown.range.low &&
      before.range.high === shown.range.high &&
      before.axes === shown.axes &&
      String(before.shape) === String(shown.shape);
    if (same) {
      this.dirty.marks = true;
      this.scheduleFrame();
    } else this.updateLayout();
  }

  /** Replaces the marks. */
  mark(marks: readonly Mark[]): void {
    if (!this.shown) return;
    this.shown = { ...this.shown, marks };
    this.dirty.marks = true;
    this.scheduleFrame();
  }

  /** Fetches again after values have changed. */
  refresh(): void {
    this.wanted = "";
    this.draw();
  }

  /** Hit test: the cell at window coordinates. */
  at(clientX: number, clientY: number): number[] | undefined {
    const box = this.marks.getBoundingClientRect();
    if (!this.tiles) return undefined;
    return hitCell(this.tiles, clientX - box.left + this.view.x, clientY - box.top + this.view.y);
  }

  get layout(): TileLayout | null {
    return this.tiles;
  }

  /** Scrolls to a cell. */
  reveal(cell: readonly number[]): void {
    const place = this.tiles && cellPosition(this.tiles, cell);
    if (!this.tiles || !place) return;
    const { width, height } = this.tiles.cell;
    const into = (start: number, length: number, from: number, size: number): number =>
      from < start ? from - size : from + size > start + length ? from + 2 * size - length : start;
    this.scrollTo(
      into(this.view.x, this.view.width, place.x, width),
      into(this.view.y, this.view.height, place.y, height),
    );
  }

  private resized(): void {
    const { clientWidth: width, clientHeight: height } = this.scroller;
    if (width === this.view.width && height === this.view.height) return;
    this.view = { ...this.view, width, height };
    const density = devicePixelRatio || 1;
    for (const canvas of [this.cells, this.marks]) {
      canvas.width = Math.round(width * density);
      canvas.height = Math.round(height * density);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    this.updateLayout();
  }

  /** Computes the layout. */
  private updateLayout(): void {
    // The old layout is invalid, even if there is no room for a new one.
    this.tiles = null;
    if (!this.shown || this.view.width === 0 || this.view.height === 0) return;
    const { shape, arrangement } = this.shown;
    const cell =
      this.shown.width === null
        ? cellSizeToFit(shape, arrangement, this.view, pixel())
        : cellSizeFor(shape, arrangement, this.shown.width);
    this.tiles = tileLayout(shape, arrangement, cell);
    this.space.style.width = `${scrollLength(this.tiles.whole.width)}px`;
    this.space.style.height = `${scrollLength(this.tiles.whole.height)}px`;
    this.scrollTo(this.view.x, this.view.y);
    this.draw();
  }

  /** Scrolls to a position. */
  private scrollTo(x: number, y: number): void {
    if (!this.tiles) return;
    const { whole } = this.tiles;
    const within = (to: number, size: number, length: number) => Math.max(0, Math.min(to, size - length));
    this.view = {
      ...this.view,
      x: within(x, whole.width, this.view.width),
      y: within(y, whole.height, this.view.height),
    };
    const [left, top] = this.bars();
    if (Math.abs(this.scroller.scrollLeft - left) >= 1) this.scroller.scrollLeft = left;
    if (Math.abs(this.scroller.scrollTop - top) >= 1) this.scroller.scrollTop = top;
    this.draw();
  }

  /** The scroll offsets of the view. */
  private bars(): [number, number] {
    const { width, height } = this.tiles?.whole ?? { width: 0, height: 0 };
    const { x, y } = this.view;
    return [scrollOffset(x, width, this.view.width), scrollOffset(y, height, this.view.height)];
  }

  private scrolled(): void {
    const { scrollLeft, scrollTop } = this.scroller;
    const { width, height } = this.tiles?.whole ?? { width: 0, height: 0 };
    const x = contentOffset(scrollLeft, width, this.view.width, this.view.x);
    const y = contentOffset(scrollTop, height, this.view.height, this.view.y);
    if (x === this.view.x && y === this.view.y) return;
    this.view = { ...this.view, x, y };
    this.draw();
  }

  private draw(): void {
    this.dirty = { cells: true, marks: true };
    this.scheduleFrame();
  }

  private scheduleFrame(): void {
    if (this.frame === 0)
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.paint();
      });
  }

  private paint(): void {
    const { tiles, view, shown, palette, colours } = this;
    if (!tiles || !shown) return;
    const density = devicePixelRatio || 1;
    const [cells, marks] = [this.cells, this.marks].map((canvas) => {
      const g = canvas.getContext("2d") as CanvasRenderingContext2D;
      g.setTransform(density, 0, 0, density, 0, 0);
      return g;
    }) as [CanvasRenderingContext2D, CanvasRenderingContext2D];
    if (this.dirty.cells) {
      const seen = visibleRange(tiles, view);
      this.fetchMissing(tiles, seen);
      paintCells(cells, {
        tiles,
        view,
        seen,
        palette,
        colours,
        parts: this.held.map(paintedSlice),
        tileNames: (across, down) => tileNames(shown, across, down),
      });
    }
    paintMarks(marks, tiles, view, shown.marks, colours);
    this.dirty = { cells: false, marks: false };
    this.scroller.ariaBusy = String(this.waiting);
  }

  /** Fetches the visible slices that are not loaded, one request at a time. */
  private fetchMissing(tiles: TileLayout, seen: VisibleRange): void {
    if (!this.shown) return;
    const { source, range } = this.shown;
    const steps = samplingWithin(tiles, seen, samplingFor(tiles, pixel()));
    const boxes = visibleSlices(tiles, seen, steps);
    const numbers = tiles.cell.width >= MIN_NUMBER_WIDTH || cellsIn(boxes) <= MAX_EXACT;
    const key = numbers ? "numbers" : `${range.low} ${range.high}`;
    const here = this.wanted === key && boxes.every((box) => this.asked.some((each) => covers(each, box)));
    if (here || this.waiting) return;
    this.wanted = key;
    const margin = visibleSlices(tiles, withOverscan(tiles, seen), steps);
    const wide = cellsIn(margin) <= MAX_FETCHED ? margin : boxes;
    this.asked = wide;
    const asking = ++this.asking;
    this.waiting = true;
    const answers = wide.map(async (box): Promise<LoadedSlice> => {
      if (!numbers) return { box, frame: null, shades: await source.shades(box, range), range };
      const frame = await source.numbers(box);
      return { box, frame, shades: colourIndices(asNumbers(frame), range), range };
    });
    Promise.all(answers).then(
      (held) => {
        if (asking !== this.asking || !this.shown) return;
        this.waiting = false;
        const { range: now } = this.shown;
        this.held = held.map((each) => recoloured(each, now));
        this.draw();
      },
      (error: Error) => {
        if (asking !== this.asking) return;
        this.waiting = false;
        this.scroller.ariaBusy = "false";
        this.onFailed(error.message);
      },
    );
  }
}

function cellsIn(boxes: readonly TensorSlice[]): number {
  return boxes.reduce((sum, box) => sum + sliceSize(box), 0);
}

/** The size of a device pixel. */
function pixel(): number {
  return 1 / (devicePixelRatio || 1);
}

function recoloured(held: LoadedSlice, range: Range): LoadedSlice {
  if (held.frame === null || (held.range.low === range.low && held.range.high === range.high)) return held;
  return { ...held, range, shades: colourIndices(asNumbers(held.frame), range) };
}

function paintedSlice({ box, shades, frame }: LoadedSlice): PaintedSlice {
  return { box, shades, text: frame && ((i) => elementText(frame, i)) };
}

/** Labels of a tile: "D 3 · C 1", or "3 · 1" if that is too long or the axes have no names. */
function tileNames({ axes, arrangement: { roles } }: HeatmapContent, across: number, down: number): string[] {
  const parts = [
    { axis: roles.across, place: across },
    { axis: roles.down, place: down },
  ].filter(({ axis }) => axis !== null);
  const full = parts.map(({ axis, place }) => `${axes[axis as number]} ${place}`).join(" · ");
  const short = parts.map(({ place }) => place).join(" · ");
  return axes.every((name) => /^\d+$/.test(name)) ? [short] : [full, short];
}
