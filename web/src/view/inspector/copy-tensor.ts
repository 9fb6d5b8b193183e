/** Copies a tensor as NumPy or CSV text, and downloads it as npy. */

import { type Arrangement, roleSize } from "../../model/axis-roles.ts";
import { type ConstantCells, formatCell } from "../../model/constant-cells.ts";
import type { Json } from "../../model/document.ts";
import { csvText, numpyText, pythonBytes } from "../../model/numpy.ts";
import { fullSlice, offsetIn, sliceSize, type TensorSlice, takeSlice } from "../../model/slices.ts";
import { cellWith } from "../../model/tiles.ts";
import { elementText, fromBase64 } from "../../net/frames.ts";
import { studio } from "../../state/store.ts";
import type { TensorInfo } from "./HeatmapView.tsx";
import type { TensorSource } from "./tensor-source.ts";

/** The most cells of a tensor that is copied as a whole; of larger ones the shown slice is copied. */
const MAX_COPIED = 1 << 16;
/** The most texts of one request. */
const AT_ONCE = 10_000;

export interface Copied {
  readonly text: string;
  readonly whole: boolean;
}

/** The tensor to copy: an output, or a constant with its cells. */
export interface Copyable {
  readonly page: number;
  readonly info: TensorInfo;
  readonly source: TensorSource;
  readonly cells: ConstantCells | undefined;
}

type TextStyle = "python" | "plain";

/** The exact texts of the cells of a slice. */
async function textsIn(
  { page, info, source, cells }: Copyable,
  box: TensorSlice,
  viewMode: TextStyle,
): Promise<string[]> {
  const strings = info.dtype === "string";
  if (cells)
    return takeSlice(cells.elements, info.shape, box).map((cell) =>
      strings && viewMode === "python" ? pythonBytes(bytesOf(cell)) : formatCell(cell),
    );
  if (strings) return takeSlice(await allTexts(page, info, viewMode), info.shape, box);
  const frame = await source.numbers(box);
  return Array.from({ length: sliceSize(box) }, (_, i) => elementText(frame, i));
}

function bytesOf(cell: Json): Uint8Array {
  const { base64 } = (cell ?? {}) as { base64?: string };
  return base64 === undefined ? new TextEncoder().encode(formatCell(cell)) : fromBase64(base64);
}

/** All elements of a string tensor. */
async function allTexts(page: number, { pin, shape }: TensorInfo, viewMode: TextStyle): Promise<string[]> {
  const count = sliceSize(fullSlice(shape));
  const texts: string[] = [];
  while (texts.length < count) {
    const listed = await studio.requests.elementTexts(
      page,
      pin,
      texts.length,
      AT_ONCE,
      viewMode === "python",
    );
    if (listed.texts.length === 0) break;
    texts.push(...listed.texts);
  }
  return texts;
}

/** The shown slice: all rows and columns at the indices of the other axes. */
function sliceOf(shape: readonly number[], { roles, at }: Arrangement): TensorSlice {
  return shape.map((end, axis) =>
    axis === roles.rows || axis === roles.columns
      ? { first: 0, end, step: 1 }
      : { first: at[axis] as number, end: (at[axis] as number) + 1, step: 1 },
  );
}

export async function asNumpy(what: Copyable, arrangement: Arrangement): Promise<Copied> {
  const { shape, dtype } = what.info;
  const whole = sliceSize(fullSlice(shape)) <= MAX_COPIED;
  const box = whole ? fullSlice(shape) : sliceOf(shape, arrangement);
  const sizes = box.map(({ first, end }) => end - first);
  return { text: numpyText(await textsIn(what, box, "python"), sizes, dtype), whole };
}

export async function asCsv(what: Copyable, arrangement: Arrangement): Promise<Copied> {
  const { shape } = what.info;
  if (shape.includes(0)) return { text: "", whole: true };
  const slice = sliceOf(shape, arrangement);
  const texts = await textsIn(what, slice, "plain");
  const columns = roleSize(arrangement.roles, "columns", shape);
  const rows = roleSize(arrangement.roles, "rows", shape);
  const inRows = Array.from({ length: rows * columns }, (_, i) => {
    const cell = cellWith(arrangement, { rows: Math.floor(i / columns), columns: i % columns });
    return texts[offsetIn(slice, cell)] as string;
  });
  return { text: csvText(inRows, columns), whole: rows * columns === sliceSize(fullSlice(shape)) };
}

/** Downloads an output as npy; rejected if it has no value. */
export async function download(page: number, pin: string): Promise<void> {
  await studio.requests.elementTexts(page, pin, 0, 0);
  const link = document.createElement("a");
  link.href = `./api/value?page=${page}&pin=${encodeURIComponent(pin)}`;
  link.download = "";
  link.click();
}
