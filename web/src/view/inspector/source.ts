/** Where the numbers of a tensor come from: the last run, or what is typed into the page. */

import { type Range, shadesOf } from "../../model/shades.ts";
import { type Box, indexOf, lengthOf, taken } from "../../model/slices.ts";
import { asNumbers, type Frame } from "../../net/frames.ts";
import type { Look } from "../../net/generated.ts";
import { live, type Stop } from "../../state/live.ts";
import { studio } from "../../state/store.ts";

export interface TensorSource {
  /** The numbers in a box. */
  numbers(box: Box): Promise<Frame>;
  /** The same as one byte each, for what is too far away to be read. */
  shades(box: Box, range: Range): Promise<Uint8Array>;
  /** Calls back whenever the numbers may be others. */
  onChange(call: () => void): Stop;
}

/** An output of the last run, or how it differs from another one. */
export function runSource(
  page: number,
  pin: string,
  how: Pick<Look, "against" | "comparison"> = {},
): TensorSource {
  const blocks = [pin, how.against ?? ""].filter((each) => each !== "").map(blockOf);
  return {
    numbers: (box) => studio.look(page, pin, indexOf(box), how),
    shades: async (box, { low, high }) => {
      const frame = await studio.look(page, pin, indexOf(box), { ...how, shades: [low, high] });
      return frame.elements as Uint8Array;
    },
    onChange: (call) => {
      const calm = calmed(call);
      const stops = blocks.map((block) => live(page).onBlock(block, calm.call));
      return () => {
        for (const stop of stops) stop();
        calm.stop();
      };
    },
  };
}

/** While a page runs, blocks change many times a second; to look at them ten times is enough. */
const PAUSE = 100;

function calmed(call: () => void): { call(): void; stop: Stop } {
  let waiting = 0;
  let again = false;
  const now = (): void => {
    again = false;
    call();
    waiting = window.setTimeout(() => {
      waiting = 0;
      if (again) now();
    }, PAUSE);
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

/** Numbers that are here already, in row-major order; complex ones as pairs, those of 64 bits as BigInt. */
export function heldSource(
  pin: string,
  shape: readonly number[],
  held: ArrayLike<number | bigint>,
  dtype = "float64",
): TensorSource {
  const pair = dtype.startsWith("complex") ? [2] : [];
  const within = pair.map((end) => ({ first: 0, end, step: 1 }));
  const elements = (box: Box): Frame["elements"] => {
    const part = taken(held, [...shape, ...pair], [...box, ...within]);
    if (typeof part[0] !== "bigint") return Float64Array.from(part as number[]);
    return (dtype === "uint64" ? BigUint64Array : BigInt64Array).from(part as bigint[]);
  };
  const numbers = (box: Box): Frame => ({
    header: { request: 0, pin, dtype, shape: box.map(lengthOf), step: 0 },
    elements: elements(box),
  });
  return {
    numbers: async (box) => numbers(box),
    shades: async (box, range) => shadesOf(asNumbers(numbers(box)), range),
    onChange: () => () => {},
  };
}
