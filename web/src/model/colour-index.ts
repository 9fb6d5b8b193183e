/** Colour indices: each number quantized to one byte of a palette, as the server gives them for `shades` of a `ReadSlice`. */

export const NAN = 0;
export const MINUS_INFINITY = 1;
export const INFINITY = 2;
export const ZERO = 3;
export const BELOW = 4;
export const ABOVE = 5;
/** Indices from here to 255 are linear from low to high; those below are special values. */
export const FIRST = 6;
const LAST = 255;

export interface Range {
  readonly low: number;
  readonly high: number;
}

export function colourIndex(value: number, { low, high }: Range): number {
  if (value === 0) return ZERO;
  if (value < low) return value === Number.NEGATIVE_INFINITY ? MINUS_INFINITY : BELOW;
  if (value > high) return value === Number.POSITIVE_INFINITY ? INFINITY : ABOVE;
  if (Number.isNaN(value)) return NAN;
  const span = high - low;
  return FIRST + Math.round((span > 0 ? (value - low) / span : 0.5) * (LAST - FIRST));
}

export function colourIndices(values: ArrayLike<number>, range: Range): Uint8Array {
  const shades = new Uint8Array(values.length);
  for (let i = 0; i < shades.length; i++) shades[i] = colourIndex(values[i] as number, range);
  return shades;
}

/** The number in the middle of the interval that an index stands for. */
export function valueOfIndex(shade: number, { low, high }: Range): number {
  return low + ((shade - FIRST) / (LAST - FIRST)) * (high - low);
}

/** Extremes and percentiles of a tensor. */
export interface ValueRange {
  readonly low?: number | null;
  readonly high?: number | null;
  readonly first_percent?: number | null;
  readonly last_percent?: number | null;
}

export type RangeMode = "all" | "most";

/** The colour range: minimum to maximum, or 1st to 99th percentile. */
export function colourRange(spread: ValueRange, mode: RangeMode = "all"): Range {
  const [low, high] =
    mode === "most"
      ? [spread.first_percent ?? spread.low, spread.last_percent ?? spread.high]
      : [spread.low, spread.high];
  return symmetric({ low: low ?? 0, high: high ?? low ?? 0 });
}

/** A range with both signs made symmetric around 0, so that 0 gets the middle colour of a diverging scale. */
export function symmetric({ low, high }: Range): Range {
  if (low >= 0 || high <= 0) return { low, high };
  const most = Math.max(-low, high);
  return { low: -most, high: most };
}

/** With less than this part of the colours, cells can hardly be told apart. */
const MIN_SHARE = 1 / 16;

/** Whether a common range leaves each tensor enough colours. */
export function canShareRange(ranges: readonly Range[]): boolean {
  return hiddenIn(ranges).length === 0;
}

/** The places of ranges of which a common range leaves next to one colour. */
export function hiddenIn(ranges: readonly Range[]): number[] {
  const { low, high } = commonRange(ranges);
  return ranges.flatMap((range, place) => {
    const width = range.high - range.low;
    return width > 0 && width <= MIN_SHARE * (high - low) ? [place] : [];
  });
}

/** The union of ranges, symmetric around 0 if it has both signs. */
export function commonRange(ranges: readonly Range[]): Range {
  if (ranges.length === 0) return { low: 0, high: 0 };
  return symmetric({
    low: Math.min(...ranges.map(({ low }) => low)),
    high: Math.max(...ranges.map(({ high }) => high)),
  });
}
