/** Fill presets of constants: zeros, ones, a ramp, random numbers. A seed gives the same numbers on every machine. */

export const PRESETS = ["zeros", "ones", "ramp", "one-hot", "random", "ties"] as const;
export type Preset = (typeof PRESETS)[number];

export interface PresetOptions {
  readonly seed?: number;
  /** The index of the one of a one-hot constant, in row-major order. */
  readonly hot?: number;
  readonly whole?: boolean;
  /** The largest number of the dtype; a ramp starts again after it. */
  readonly most?: number;
}

/** A seeded random number generator: each call gives a number in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function preset(how: Preset, count: number, options: PresetOptions = {}): number[] {
  const { seed = 0, hot = 0, whole = false, most = Number.MAX_SAFE_INTEGER } = options;
  const random = seededRandom(seed);
  const number: Record<Preset, (i: number) => number> = {
    zeros: () => 0,
    ones: () => 1,
    ramp: (i) => (i % most) + 1,
    "one-hot": (i) => (i === hot ? 1 : 0),
    random: () => (whole ? Math.floor(random() * 10) : Math.round(random() * 200 - 100) / 100),
    // So few numbers that nearly every window has its largest more than once.
    ties: () => 1 + Math.floor(random() * 2),
  };
  return Array.from({ length: count }, (_, i) => number[how](i));
}
