/** Slices of tensors: first, end and step for each axis. */

import { stridesOf } from "./indexing.ts";

export interface AxisSlice {
  readonly first: number;
  readonly end: number;
  readonly step: number;
}

export type TensorSlice = readonly AxisSlice[];

export function sliceLength({ first, end, step }: AxisSlice): number {
  return Math.max(0, Math.ceil((end - first) / step));
}

export function sliceSize(box: TensorSlice): number {
  return box.reduce((product, span) => product * sliceLength(span), 1);
}

/** The index of a `ReadSlice` request. Every axis is a range, so that the answer keeps the rank. */
export function sliceIndex(box: TensorSlice): number[][] {
  return box.map(({ first, end, step }) => [first, end, step]);
}

export function fullSlice(shape: readonly number[]): TensorSlice {
  return shape.map((end) => ({ first: 0, end, step: 1 }));
}

export function cellSlice(cell: readonly number[]): TensorSlice {
  return cell.map((place) => ({ first: place, end: place + 1, step: 1 }));
}

/** The row-major offset of a cell in a slice, or of the sample that stands for it; -1 if it is outside. */
export function offsetIn(box: TensorSlice, cell: readonly number[]): number {
  let offset = 0;
  for (const [axis, span] of box.entries()) {
    const place = cell[axis] as number;
    if (place < span.first || place >= span.end) return -1;
    offset = offset * sliceLength(span) + Math.floor((place - span.first) / span.step);
  }
  return offset;
}

/** Whether a slice contains another with the same steps. */
export function covers(box: TensorSlice, wanted: TensorSlice): boolean {
  return box.every((span, axis) => {
    const other = wanted[axis] as AxisSlice;
    return span.first <= other.first && span.end >= other.end && span.step === other.step;
  });
}

/** The elements of a slice of a tensor in memory, in row-major order. */
export function takeSlice<T>(elements: ArrayLike<T>, shape: readonly number[], box: TensorSlice): T[] {
  const strides = stridesOf(shape);
  const found: T[] = [];
  const walk = (axis: number, offset: number): void => {
    if (axis === box.length) {
      found.push(elements[offset] as T);
      return;
    }
    const { first, end, step } = box[axis] as AxisSlice;
    for (let place = first; place < end; place += step)
      walk(axis + 1, offset + place * (strides[axis] as number));
  };
  walk(0, 0);
  return found;
}
