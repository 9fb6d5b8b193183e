/** A tensor as text for other programs, and as a file. */

import { type Arrangement, roleSize } from "../../model/axis-roles.ts";
import type { Json } from "../../model/document.ts";
import { csvText, numpyText, pythonBytes } from "../../model/numpy.ts";
import { fullSlice, offsetIn, sliceSize, type TensorSlice, takeSlice } from "../../model/slices.ts";
import { cellWith } from "../../model/tiles.ts";
import { elementText, fromBase64 } from "../../net/frames.ts";
import { studio } from "../../state/store.ts";
import { type ConstantCells, formatCell } from "../widgets/constant.ts";
import type { TensorInfo } from "./HeatmapView.tsx";
import type { TensorSource } from "./tensor-source.ts";

/** Of a tensor with so many cells or fewer all are copied; of a larger one the slice that is shown. */
const MOST_COPIED = 1 << 16;
/** Texts that the server gives at once. */
const AT_ONCE = 10_000;

export interface Copied {
  readonly text: string;
  readonly whole: boolean;
}

/** What is copied: an output of the last run, or a constant whose cells are here. */
export interface Copyable {
  readonly page: number;
  readonly info: TensorInfo;
  readonly source: TensorSource;
  readonly cells: ConstantCells | undefined;
}

type TextStyle = "python" | "plain";

/** The texts of the cells in a box, each exact. */
async function textsIn(
  { page, info, source, cells }: Copyable,
  box: TensorSlice,
  way: TextStyle,
): Promise<string[]> {
  const strings = info.dtype === "string";
  if (cells)
    return takeSlice(cells.elements, info.shape, box).map((cell) =>
      strings && way === "python" ? pythonBytes(bytesOf(cell)) : formatCell(cell),
    );
  if (strings) return takeSlice(await allTexts(page, info, way), info.shape, box);
  const frame = await source.numbers(box);
  return Array.from({ length: sliceSize(box) }, (_, i) => elementText(frame, i));
}

function bytesOf(cell: Json): Uint8Array {
  const { base64 } = (cell ?? {}) as { base64?: string };
  return base64 === undefined ? new TextEncoder().encode(formatCell(cell)) : fromBase64(base64);
}

/** Strings come as texts alone, from the first on. */
async function allTexts(page: number, { pin, shape }: TensorInfo, way: TextStyle): Promise<string[]> {
  const count = sliceSize(fullSlice(shape));
  const texts: string[] = [];
  while (texts.length < count) {
    const listed = await studio.requests.elementTexts(page, pin, texts.length, AT_ONCE, way === "python");
    if (listed.texts.length === 0) break;
    texts.push(...listed.texts);
  }
  return texts;
}

/** The rows and columns that are shown, at the places where the other axes stand. */
function sliceOf(shape: readonly number[], { roles, at }: Arrangement): TensorSlice {
  return shape.map((end, axis) =>
    axis === roles.rows || axis === roles.columns
      ? { first: 0, end, step: 1 }
      : { first: at[axis] as number, end: (at[axis] as number) + 1, step: 1 },
  );
}

export async function asNumpy(what: Copyable, arrangement: Arrangement): Promise<Copied> {
  const { shape, dtype } = what.info;
  const whole = sliceSize(fullSlice(shape)) <= MOST_COPIED;
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

/** Lets the browser save an output as npy; refused where it has no value yet. */
export async function download(page: number, pin: string): Promise<void> {
  await studio.requests.elementTexts(page, pin, 0, 0);
  const link = document.createElement("a");
  link.href = `./api/value?page=${page}&pin=${encodeURIComponent(pin)}`;
  link.download = "";
  link.click();
}
