/** Sources of tensor values: the server, or memory for constants. */

import { colourIndices, type Range } from "../../model/colour-index.ts";
import { sliceIndex, sliceLength, type TensorSlice, takeSlice } from "../../model/slices.ts";
import { asNumbers, type Frame } from "../../net/frames.ts";
import type { ReadSlice } from "../../net/generated.ts";
import { live, type Unsubscribe } from "../../state/live.ts";
import { studio } from "../../state/store.ts";

export interface TensorSource {
  /** The values of a slice. */
  numbers(box: TensorSlice): Promise<Frame>;
  /** The colour indices of a slice, one byte each. */
  shades(box: TensorSlice, range: Range): Promise<Uint8Array>;
  /** Subscribes to changes of values. */
  onChange(call: () => void): Unsubscribe;
}

/** The values of an output, or of its difference from another. */
export function outputSource(
  page: number,
  pin: string,
  how: Pick<ReadSlice, "against" | "comparison"> = {},
): TensorSource {
  const blocks = [pin, how.against ?? ""].filter((each) => each !== "").map(blockOf);
  return {
    numbers: (box) => studio.requests.slice(page, pin, sliceIndex(box), how),
    shades: async (box, { low, high }) => {
      const frame = await studio.requests.slice(page, pin, sliceIndex(box), { ...how, shades: [low, high] });
      return frame.elements as Uint8Array;
    },
    onChange: (call) => {
      const calm = throttled(call);
      const stops = blocks.map((block) => live(page).onBlock(block, calm.call));
      return () => {
        for (const stop of stops) stop();
        calm.stop();
      };
    },
  };
}

/** The throttle of changes during a run, in milliseconds. */
const THROTTLE_MS = 100;

function throttled(call: () => void): { call(): void; stop: Unsubscribe } {
  let waiting = 0;
  let again = false;
  const now = (): void => {
    again = false;
    call();
    waiting = window.setTimeout(() => {
      waiting = 0;
      if (again) now();
    }, THROTTLE_MS);
  };
  return {
    call: () => {
      if (waiting === 0) now();
      else again = true;
    },
    stop: () => clearTimeout(waiting),
  };
}

export function blockOf(pin: string): string {
  return pin.slice(0, pin.indexOf(":"));
}

/** A tensor in memory, in row-major order; complex numbers as pairs, 64-bit integers as BigInt. */
export function memorySource(
  pin: string,
  shape: readonly number[],
  held: ArrayLike<number | bigint>,
  dtype = "float64",
): TensorSource {
  const pair = dtype.startsWith("complex") ? [2] : [];
  const within = pair.map((end) => ({ first: 0, end, step: 1 }));
  const elements = (box: TensorSlice): Frame["elements"] => {
    const part = takeSlice(held, [...shape, ...pair], [...box, ...within]);
    if (typeof part[0] !== "bigint") return Float64Array.from(part as number[]);
    return (dtype === "uint64" ? BigUint64Array : BigInt64Array).from(part as bigint[]);
  };
  const numbers = (box: TensorSlice): Frame => ({
    header: { request: 0, pin, dtype, shape: box.map(sliceLength), step: 0 },
    elements: elements(box),
  });
  return {
    numbers: async (box) => numbers(box),
    shades: async (box, range) => colourIndices(asNumbers(numbers(box)), range),
    onChange: () => () => {},
  };
}
