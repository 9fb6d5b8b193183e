/** Paints the cells of a heatmap: colours, grid lines, markers and numbers. */

import {
  ABOVE,
  BELOW,
  FIRST,
  INFINITY,
  MINUS_INFINITY,
  NAN,
  type Range,
  valueOfIndex,
  ZERO,
} from "../../model/colour-index.ts";
import { stridesOf } from "../../model/indexing.ts";
import { sliceLength, type TensorSlice } from "../../model/slices.ts";
import {
  cellWith,
  EDGE,
  MIN_MARKER_WIDTH,
  MIN_NUMBER_WIDTH,
  type ScrollRect,
  type TileLayout,
  type VisibleRange,
} from "../../model/tiles.ts";
import { scaleFor } from "../canvas/colourmap.ts";
import type { Colours } from "../canvas/colours.ts";
import { hasMarker, SpecialValueMarkers } from "./special-value-markers.ts";

/** A loaded slice of a tensor. */
export interface PaintedSlice {
  readonly box: TensorSlice;
  readonly shades: Uint8Array;
  /** Null if only colour indices are loaded. */
  readonly text: ((i: number) => string) | null;
}

/** The colour of zeros, which is in no colour scale. */
const ZERO_GREY = [196, 199, 204] as const;

export interface Palette {
  /** For each colour index a pixel, in the memory layout of ImageData. */
  readonly pixels: Uint32Array;
  /** For each colour index, whether text on it is white. */
  readonly dark: Uint8Array;
}

export function paletteFor(range: Range): Palette {
  const scale = scaleFor(range.low, range.high);
  const pixels = new Uint32Array(256);
  const dark = new Uint8Array(256);
  const set = (shade: number, [r, g, b]: readonly number[]): void => {
    const rgb = [r, g, b].map((part) => Math.round(part as number)) as [number, number, number];
    pixels[shade] = ((255 << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0]) >>> 0;
    dark[shade] = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] < 140 ? 1 : 0;
  };
  for (let shade = FIRST; shade < 256; shade++) set(shade, scale.colour(valueOfIndex(shade, range)));
  for (const shade of [NAN, MINUS_INFINITY, INFINITY]) set(shade, [16, 16, 20]);
  set(ZERO, ZERO_GREY);
  set(BELOW, scale.colour(range.low));
  set(ABOVE, scale.colour(range.high));
  return { pixels, dark };
}

export interface HeatmapScene {
  readonly tiles: TileLayout;
  readonly view: ScrollRect;
  readonly seen: VisibleRange;
  readonly parts: readonly PaintedSlice[];
  readonly palette: Palette;
  readonly colours: Colours;
  /** Labels of the tile at these indices, the longest first. */
  tileNames(across: number, down: number): string[];
}

/** The scratch image of tiles, reused. */
let scratch: { canvas: HTMLCanvasElement; image: ImageData; pixels: Uint32Array } | null = null;

function scratchFor(width: number, height: number): NonNullable<typeof scratch> {
  if (scratch && scratch.image.width >= width && scratch.image.height >= height) return scratch;
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(width, scratch?.image.width ?? 0);
  canvas.height = Math.max(height, scratch?.image.height ?? 0);
  const image = new ImageData(canvas.width, canvas.height);
  scratch = { canvas, image, pixels: new Uint32Array(image.data.buffer) };
  return scratch;
}

export function paintCells(g: CanvasRenderingContext2D, scene: HeatmapScene): void {
  const { tiles, view, seen, colours } = scene;
  g.clearRect(0, 0, view.width, view.height);
  g.imageSmoothingEnabled = false;
  for (let j = seen.down.first; j < seen.down.end; j++)
    for (let i = seen.across.first; i < seen.across.end; i++) {
      const [across, down] = [tiles.across[i] as number, tiles.down[j] as number];
      const x = EDGE + i * tiles.pitch.width - view.x;
      const y = EDGE + j * tiles.pitch.height - view.y;
      if (tiles.label > 0) {
        g.fillStyle = colours.inkSoft;
        g.font = `11px ${colours.mono}`;
        g.textBaseline = "middle";
        g.textAlign = "left";
        const names = across < 0 || down < 0 ? ["…"] : scene.tileNames(across, down);
        const name = names.find((each) => g.measureText(each).width <= tiles.pitch.width - 2);
        if (name !== undefined) g.fillText(name, x, y + tiles.label / 2);
      }
      if (across >= 0 && down >= 0) paintTile(g, scene, across, down, x, y + tiles.label);
    }
}

function paintTile(
  g: CanvasRenderingContext2D,
  scene: HeatmapScene,
  across: number,
  down: number,
  x: number,
  y: number,
): void {
  const { tiles, parts } = scene;
  const corner = cellWith(tiles.arrangement, { rows: 0, columns: 0, across, down });
  const { roles } = tiles.arrangement;
  for (const part of parts) {
    const inside = part.box.every(
      (span, axis) =>
        axis === roles.rows ||
        axis === roles.columns ||
        ((corner[axis] as number) >= span.first && (corner[axis] as number) < span.end),
    );
    if (inside) paintSlice(g, scene, part, corner, x, y);
  }
}

function paintSlice(
  g: CanvasRenderingContext2D,
  scene: HeatmapScene,
  part: PaintedSlice,
  corner: readonly number[],
  x: number,
  y: number,
): void {
  const { tiles, palette, view } = scene;
  const { roles } = tiles.arrangement;
  const strides = stridesOf(part.box.map(sliceLength));
  const one = { first: 0, end: 1, step: 1 };
  const rowSpan = roles.rows === null ? one : (part.box[roles.rows] as typeof one);
  const columnSpan = roles.columns === null ? one : (part.box[roles.columns] as typeof one);
  const [rows, columns] = [sliceLength(rowSpan), sliceLength(columnSpan)];
  if (rows === 0 || columns === 0) return;
  const rowStride = roles.rows === null ? 0 : (strides[roles.rows] as number);
  const columnStride = roles.columns === null ? 0 : (strides[roles.columns] as number);
  let base = 0;
  part.box.forEach((span, axis) => {
    if (axis !== roles.rows && axis !== roles.columns)
      base += (((corner[axis] as number) - span.first) / span.step) * (strides[axis] as number);
  });
  const { canvas, image, pixels } = scratchFor(columns, rows);
  const odd: number[] = [];
  for (let row = 0; row < rows; row++) {
    let from = base + row * rowStride;
    let to = row * image.width;
    for (let column = 0; column < columns; column++, from += columnStride) {
      const shade = part.shades[from] as number;
      pixels[to++] = palette.pixels[shade] as number;
      if (hasMarker(shade)) odd.push(row, column, shade);
    }
  }
  canvas.getContext("2d")?.putImageData(image, 0, 0, 0, 0, columns, rows);
  const width = tiles.cell.width * columnSpan.step;
  const height = tiles.cell.height * rowSpan.step;
  const left = x + columnSpan.first * tiles.cell.width;
  const top = y + rowSpan.first * tiles.cell.height;
  g.drawImage(canvas, 0, 0, columns, rows, left, top, columns * width, rows * height);
  if (width >= MIN_MARKER_WIDTH + 2) paintGridLines(g, view, left, top, width, height, columns, rows);
  const shapes = new SpecialValueMarkers(g, palette.dark);
  for (let i = 0; i < odd.length; i += 3) {
    const x = left + ((odd[i + 1] as number) + 0.5) * width;
    const y = top + ((odd[i] as number) + 0.5) * height;
    if (x >= 0 && y >= 0 && x <= view.width && y <= view.height)
      shapes.draw(odd[i + 2] as number, x, y, width, height);
  }
  if (part.text === null || width < MIN_NUMBER_WIDTH) return;
  g.font = `${width < 40 ? 9.5 : 11}px ${scene.colours.mono}`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  const letters = Math.floor((width - 3) / (width < 40 ? 5.8 : 6.7));
  for (let row = 0; row < rows; row++) {
    const middle = top + (row + 0.5) * height;
    if (middle < -height || middle > view.height + height) continue;
    for (let column = 0; column < columns; column++) {
      const at = base + row * rowStride + column * columnStride;
      const shade = part.shades[at] as number;
      const centre = left + (column + 0.5) * width;
      if (centre < -width || centre > view.width + width || shade <= INFINITY) continue;
      g.fillStyle = palette.dark[shade] ? "#ffffff" : "#14181f";
      g.fillText(abbreviate(part.text(at), letters), centre, middle);
    }
  }
}

/** A number in at most so many characters, rounded if necessary. */
export function abbreviate(text: string, letters: number): string {
  if (text.length <= letters) return text;
  const value = Number(text);
  if (!Number.isFinite(value)) return text.slice(0, letters);
  for (let digits = 4; digits > 1; digits--) {
    const rounded = String(Number(value.toPrecision(digits)));
    if (rounded.length <= letters) return rounded;
  }
  const size = Math.abs(value);
  const power = value.toExponential(0).replace("e+", "e");
  if (size >= 1) return power.length <= letters ? power : "…";
  // A number near zero without room for its first digit keeps its sign: -.00
  const sign = value < 0 ? "-" : "";
  const fixed = size.toFixed(Math.max(1, letters - sign.length - 1)).replace(/^0/, "");
  return /[1-9]/.test(fixed) || power.length > letters ? sign + fixed : power;
}

function paintGridLines(
  g: CanvasRenderingContext2D,
  view: ScrollRect,
  left: number,
  top: number,
  width: number,
  height: number,
  columns: number,
  rows: number,
): void {
  g.strokeStyle = "rgb(128 128 128 / 35%)";
  g.lineWidth = 1;
  g.beginPath();
  const [bottom, right] = [top + rows * height, left + columns * width];
  for (let column = 0; column <= columns; column++) {
    const x = Math.round(left + column * width) + 0.5;
    if (x >= 0 && x <= view.width) {
      g.moveTo(x, Math.max(top, 0));
      g.lineTo(x, Math.min(bottom, view.height));
    }
  }
  for (let row = 0; row <= rows; row++) {
    const y = Math.round(top + row * height) + 0.5;
    if (y >= 0 && y <= view.height) {
      g.moveTo(Math.max(left, 0), y);
      g.lineTo(Math.min(right, view.width), y);
    }
  }
  g.stroke();
}
