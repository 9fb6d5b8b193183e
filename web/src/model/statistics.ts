/** Statistics of a constant, as the server computes them of outputs, so that nothing needs to run. */

const BINS = 64;

export interface Statistics {
  readonly low: number | null;
  readonly high: number | null;
  readonly mean: number | null;
  readonly deviation: number | null;
  readonly first_percent: number | null;
  readonly last_percent: number | null;
  readonly zeros: number;
  readonly nans: number;
  readonly infinities: number;
  /** A bin for each integer from low to high if `whole`, else BINS of them. */
  readonly counts: readonly number[];
  readonly whole: boolean;
}

export function statisticsOf(values: ArrayLike<number>): Statistics {
  const numbers = Array.from(values);
  const finite = Float64Array.from(numbers.filter(Number.isFinite)).sort();
  const nans = numbers.filter(Number.isNaN).length;
  const rest = { zeros: finite.filter((each) => each === 0).length, nans };
  const infinities = numbers.length - finite.length - nans;
  const nothing = {
    low: null,
    high: null,
    mean: null,
    deviation: null,
    first_percent: null,
    last_percent: null,
  };
  if (finite.length === 0) return { ...nothing, ...rest, infinities, counts: [], whole: false };
  const [low, high] = [finite[0] as number, finite.at(-1) as number];
  const mean = finite.reduce((sum, each) => sum + each / finite.length, 0);
  const spread = finite.reduce((sum, each) => sum + (each - mean) ** 2 / finite.length, 0);
  const at = (part: number): number => finite[Math.round(part * (finite.length - 1))] as number;
  const whole = high - low < BINS && finite.every(Number.isInteger);
  const counts = new Array<number>(whole ? high - low + 1 : BINS).fill(0);
  for (const each of finite) {
    const bin = whole ? each - low : binOf(each, low, high);
    counts[bin] = (counts[bin] as number) + 1;
  }
  return {
    low,
    high,
    mean,
    deviation: Math.sqrt(spread),
    first_percent: at(0.01),
    last_percent: at(0.99),
    ...rest,
    infinities,
    counts,
    whole,
  };
}

function binOf(value: number, low: number, high: number): number {
  if (high === low) return 0;
  return Math.min(BINS - 1, Math.floor(((value - low) / (high - low)) * BINS));
}
