import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ABOVE,
  BELOW,
  canShareRange,
  colourIndex,
  colourRange,
  commonRange,
  FIRST,
  hiddenIn,
  INFINITY,
  MINUS_INFINITY,
  NAN,
  symmetric,
  valueOfIndex,
  ZERO,
} from "./colour-index.ts";

describe("a number's shade", () => {
  const range = { low: -2, high: 2 };
  test.each([
    [Number.NaN, NAN],
    [Number.NEGATIVE_INFINITY, MINUS_INFINITY],
    [Number.POSITIVE_INFINITY, INFINITY],
    [0, ZERO],
    [-0, ZERO],
    [-2.1, BELOW],
    [2.1, ABOVE],
    [-2, FIRST],
    [2, 255],
  ])("of %d is %d", (value, shade) => {
    expect(colourIndex(value, range)).toBe(shade);
  });
  test("is darker or lighter as numbers are larger, and stands for about the number", () => {
    const within = fc.double({ min: -2, max: 2, noNaN: true }).filter((value) => value !== 0);
    fc.assert(
      fc.property(within, within, (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        expect(colourIndex(low, range)).toBeLessThanOrEqual(colourIndex(high, range));
        expect(Math.abs(valueOfIndex(colourIndex(a, range), range) - a)).toBeLessThanOrEqual(
          4 / 249 / 2 + 1e-9,
        );
      }),
    );
  });
  test("lies in the middle where all numbers are one", () => {
    expect(colourIndex(3, { low: 3, high: 3 })).toBeGreaterThan(FIRST);
    expect(colourIndex(3, { low: 3, high: 3 })).toBeLessThan(255);
  });
});

describe("a range", () => {
  test("with both signs is the same on both sides of zero", () => {
    expect(symmetric({ low: -1, high: 3 })).toEqual({ low: -3, high: 3 });
    expect(symmetric({ low: 1, high: 3 })).toEqual({ low: 1, high: 3 });
  });
  test("may leave out one of a hundred at either end", () => {
    const spread = { low: 0, high: 100, first_percent: 1, last_percent: 9 };
    expect(colourRange(spread)).toEqual({ low: 0, high: 100 });
    expect(colourRange(spread, "most")).toEqual({ low: 1, high: 9 });
    expect(colourRange({})).toEqual({ low: 0, high: 0 });
  });
  test("of several tensors holds them all", () => {
    expect(
      commonRange([
        { low: 0, high: 2 },
        { low: -5, high: 1 },
      ]),
    ).toEqual({ low: -5, high: 5 });
  });
});

test("tensors share colours unless one of them would have hardly any", () => {
  expect(canShareRange([])).toBe(true);
  expect(
    canShareRange([
      { low: -1, high: 1 },
      { low: 0, high: 0.5 },
    ]),
  ).toBe(true);
  expect(
    canShareRange([
      { low: -1, high: 1 },
      { low: 0, high: 100 },
    ]),
  ).toBe(false);
  // One number alone has one colour anyway.
  expect(
    canShareRange([
      { low: 3, high: 3 },
      { low: 0, high: 100 },
    ]),
  ).toBe(true);
});

test("a range for all names the tensors that it hides", () => {
  expect(
    hiddenIn([
      { low: -1, high: 1 },
      { low: 0, high: 100 },
      { low: 5, high: 5 },
    ]),
  ).toEqual([0]);
});
