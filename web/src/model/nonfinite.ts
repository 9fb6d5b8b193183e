/** Finds what is no number in a constant; of values the server finds it. */

import { unravelIndex } from "./indexing.ts";

/** The next NaN or infinity in row-major order, after a place if there is one, beginning again from the first. */
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

/** Whether numbers of a type may be NaN or infinite. */
export const canBeNonFinite = (dtype: string): boolean => /float|complex/.test(dtype);
