/** Integer solutions of linear constraints: values of loop variables whose affine coordinates lie within bounds. */

/** The most points that are enumerated where coordinates are read from tensors. */
export const MAX_TRIED = 1 << 21;

/** A constraint low <= offset + sum(step * loop) <= high. */
export interface Constraint {
  /** The affine coordinate along an axis: its offset, the step of each loop, and the size of the axis. */
  readonly axis: {
    readonly offset: number;
    readonly steps: ReadonlyMap<number, number>;
    readonly size: number;
  };
  readonly low: number;
  readonly high: number;
}

/** Solutions for a group of loops that share constraints: `values` of each loop, solution after solution. */
export interface Solutions {
  readonly loops: readonly number[];
  readonly values: readonly number[];
  readonly count: number;
}

export function combinationCount(parts: readonly Solutions[]): number {
  return parts.reduce((count, part) => count * part.count, 1);
}

/** start + sum(step * value) for each solution. */
export function weightedSums(
  { loops, values, count }: Solutions,
  steps: readonly number[],
  start: number,
): Float64Array {
  const found = new Float64Array(count).fill(start);
  for (const [i, loop] of loops.entries()) {
    const step = steps[loop] as number;
    if (step === 0) continue;
    for (let s = 0; s < count; s++) {
      found[s] = (found[s] as number) + step * (values[s * loops.length + i] as number);
    }
  }
  return found;
}

/** All sums of an element of each, the second varying fastest. */
export function pairwiseSums(first: Float64Array, second: Float64Array): Float64Array {
  const all = new Float64Array(first.length * second.length);
  let at = 0;
  for (const a of first) for (const b of second) all[at++] = a + b;
  return all;
}

/** Sorts in place, unless already sorted, as most are: sorting dominates the run time. */
export function sortInPlace(numbers: Float64Array): Float64Array {
  for (let i = 1; i < numbers.length; i++) {
    if ((numbers[i] as number) < (numbers[i - 1] as number)) return numbers.sort();
  }
  return numbers;
}

export function sortedUnique(numbers: Float64Array): Float64Array {
  const sorted = sortInPlace(numbers.slice());
  return sorted.filter((each, i) => i === 0 || each !== sorted[i - 1]);
}

/** Enumerates the solutions for some loops by backtracking, with intervals that prune; at most MAX_TRIED. */
export function solve(
  loops: readonly number[],
  sizes: readonly number[],
  all: readonly Constraint[],
): Solutions {
  const lines = all.filter(({ axis }) => loops.some((loop) => axis.steps.has(loop)));
  const steps = lines.map(({ axis }) => loops.map((loop) => axis.steps.get(loop) ?? 0));
  const reaches = steps.map((each) => remainingIntervals(each, loops, sizes));
  const now = new Array<number>(loops.length).fill(0);
  const values: number[] = [];
  const walk = (depth: number, at: readonly number[]): void => {
    if (depth === loops.length) {
      values.push(...now);
      return;
    }
    let [first, last] = [0, (sizes[loops[depth] as number] as number) - 1];
    for (const [i, { low, high }] of lines.entries()) {
      const step = (steps[i] as number[])[depth] as number;
      const [least, most] = (reaches[i] as Interval[])[depth + 1] as Interval;
      const [from, to] = [low - (at[i] as number) - most, high - (at[i] as number) - least];
      if (step === 0 && (from > 0 || to < 0)) return;
      if (step !== 0) first = Math.max(first, Math.ceil((step > 0 ? from : to) / step));
      if (step !== 0) last = Math.min(last, Math.floor((step > 0 ? to : from) / step));
    }
    for (let value = first; value <= last && values.length < MAX_TRIED * loops.length; value++) {
      now[depth] = value;
      walk(
        depth + 1,
        at.map((each, i) => each + ((steps[i] as number[])[depth] as number) * value),
      );
    }
  };
  walk(
    0,
    lines.map(({ axis }) => axis.offset),
  );
  return { loops, values, count: values.length / loops.length };
}

type Interval = readonly [least: number, most: number];

/** For each depth, the interval that the remaining loops can add to a constraint. */
function remainingIntervals(
  steps: readonly number[],
  loops: readonly number[],
  sizes: readonly number[],
): Interval[] {
  const reach: Interval[] = [[0, 0]];
  for (let depth = loops.length - 1; depth >= 0; depth--) {
    const far = (steps[depth] as number) * ((sizes[loops[depth] as number] as number) - 1);
    const [least, most] = reach[0] as Interval;
    reach.unshift([least + Math.min(far, 0), most + Math.max(far, 0)]);
  }
  return reach;
}
