/** Searches a constant for NaN and infinities; outputs are searched by the server. */

import { unravelIndex } from "./indexing.ts";

/** The index of the next NaN or infinity in row-major order after an offset, wrapping around. */
export function nextNonFinite(
  values: ArrayLike<number>,
  shape: readonly number[],
  after: number | null,
): number[] | null {
  const start = after === null ? 0 : after + 1;
  for (let i = 0; i < values.length; i++) {
    const place = (start + i) % values.length;
    if (!Number.isFinite(values[place])) return unravelIndex(place, shape);
  }
  return null;
}

/** Whether a dtype has NaN and infinities. */
export const canBeNonFinite = (dtype: string): boolean => /float|complex/.test(dtype);
