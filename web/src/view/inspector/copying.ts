/** A tensor as text for other programs, and as a file. */

import { csvText, numpyText } from "../../model/numpy.ts";
import { type Box, countOf, offsetIn, wholeBox } from "../../model/slices.ts";
import { cellIn } from "../../model/tiles.ts";
import { type Arrangement, sizeIn } from "../../model/wells.ts";
import { elementText } from "../../net/frames.ts";
import type { TensorSource } from "./source.ts";
import type { TensorInfo } from "./TensorView.tsx";

/** Of a tensor with so many cells or fewer all are copied; of a larger one the slice that is shown. */
const MOST_COPIED = 1 << 16;

export interface Copied {
  readonly text: string;
  readonly whole: boolean;
}

async function textsIn(source: TensorSource, box: Box): Promise<string[]> {
  const frame = await source.numbers(box);
  return Array.from({ length: countOf(box) }, (_, i) => elementText(frame, i));
}

/** The rows and columns that are shown, at the places where the other axes stand. */
function sliceOf(shape: readonly number[], { wells, at }: Arrangement): Box {
  return shape.map((end, axis) =>
    axis === wells.rows || axis === wells.columns
      ? { first: 0, end, step: 1 }
      : { first: at[axis] as number, end: (at[axis] as number) + 1, step: 1 },
  );
}

export async function asNumpy(
  { shape, dtype }: TensorInfo,
  source: TensorSource,
  arrangement: Arrangement,
): Promise<Copied> {
  const whole = countOf(wholeBox(shape)) <= MOST_COPIED;
  const box = whole ? wholeBox(shape) : sliceOf(shape, arrangement);
  const sizes = box.map(({ first, end }) => end - first);
  return { text: numpyText(await textsIn(source, box), sizes, dtype), whole };
}

export async function asCsv(
  { shape }: TensorInfo,
  source: TensorSource,
  arrangement: Arrangement,
): Promise<Copied> {
  const slice = sliceOf(shape, arrangement);
  const texts = await textsIn(source, slice);
  const columns = sizeIn(arrangement.wells, "columns", shape);
  const rows = sizeIn(arrangement.wells, "rows", shape);
  const inRows = Array.from({ length: rows * columns }, (_, i) => {
    const cell = cellIn(arrangement, { rows: Math.floor(i / columns), columns: i % columns });
    return texts[offsetIn(slice, cell)] as string;
  });
  return { text: csvText(inRows, columns), whole: rows * columns === countOf(wholeBox(shape)) };
}

export function download(page: number, pin: string): void {
  const link = document.createElement("a");
  link.href = `./api/value?page=${page}&pin=${encodeURIComponent(pin)}`;
  link.download = "";
  link.click();
}
