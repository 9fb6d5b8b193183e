/** Numbers as bytes that say how to draw them, as the server's `Look` gives them with `shades`. */

export const NAN = 0;
export const MINUS_INFINITY = 1;
export const INFINITY = 2;
export const ZERO = 3;
export const BELOW = 4;
export const ABOVE = 5;
/** From here to 255 the byte says where between low and high the number lies. */
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

/** The number in the middle of what a shade stands for. */
export function valueOfIndex(shade: number, { low, high }: Range): number {
  return low + ((shade - FIRST) / (LAST - FIRST)) * (high - low);
}

/** What is known of the numbers of a tensor. */
export interface ValueRange {
  readonly low?: number | null;
  readonly high?: number | null;
  readonly first_percent?: number | null;
  readonly last_percent?: number | null;
}

export type RangeMode = "all" | "most";

/** From the smallest to the largest number, or to those that leave out one of a hundred at either end. */
export function colourRange(spread: ValueRange, mode: RangeMode = "all"): Range {
  const [low, high] =
    mode === "most"
      ? [spread.first_percent ?? spread.low, spread.last_percent ?? spread.high]
      : [spread.low, spread.high];
  return symmetric({ low: low ?? 0, high: high ?? low ?? 0 });
}

/** With both signs a range is as wide on either side of 0, so that 0 has the colour between the two. */
export function symmetric({ low, high }: Range): Range {
  if (low >= 0 || high <= 0) return { low, high };
  const most = Math.max(-low, high);
  return { low: -most, high: most };
}

/** Of a range with a sixteenth of the colours or less, cells can hardly be told apart. */
const MIN_SHARE = 1 / 16;

/** Whether one range for all leaves each enough colours. */
export function canShareRange(ranges: readonly Range[]): boolean {
  const { low, high } = commonRange(ranges);
  const wide = ranges.map((range) => range.high - range.low).filter((width) => width > 0);
  return wide.every((width) => width > MIN_SHARE * (high - low));
}

/** One range for tensors that are seen together. */
export function commonRange(ranges: readonly Range[]): Range {
  if (ranges.length === 0) return { low: 0, high: 0 };
  return symmetric({
    low: Math.min(...ranges.map(({ low }) => low)),
    high: Math.max(...ranges.map(({ high }) => high)),
  });
}
