import fc from "fast-check";
import { expect, test } from "vitest";
import { nextNonFinite } from "./nonfinite.ts";
import { statisticsOf } from "./statistics.ts";

test("NaN and infinities are counted apart from numbers", () => {
  expect(
    statisticsOf([1, 3, 0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]),
  ).toMatchObject({
    low: 0,
    high: 3,
    mean: 4 / 3,
    zeros: 1,
    nans: 1,
    infinities: 2,
  });
  expect(statisticsOf([Number.NaN])).toMatchObject({
    low: null,
    high: null,
    mean: null,
    nans: 1,
    counts: [],
  });
});

test("every number is counted in one bin, and lies between low and high", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), { minLength: 1 }),
      (values) => {
        const { low, high, mean, counts } = statisticsOf(values);
        expect(counts.reduce((sum, each) => sum + each, 0)).toBe(values.length);
        expect(low).toBe(Math.min(...values));
        expect(mean as number).toBeGreaterThanOrEqual((low as number) - 1e-3);
        expect(mean as number).toBeLessThanOrEqual((high as number) + 1e-3);
      },
    ),
  );
});

test("few integers have a bin each", () => {
  expect(statisticsOf([3, 3, 5])).toMatchObject({ whole: true, counts: [2, 0, 1] });
  expect(statisticsOf([3, 3.5]).counts).toHaveLength(64);
  expect(statisticsOf([0, 64])).toMatchObject({ whole: false });
});

test("the next bad cell is found, round and round", () => {
  const values = [1, Number.NaN, 2, Number.POSITIVE_INFINITY];
  expect(nextNonFinite(values, [2, 2], null)).toEqual([0, 1]);
  expect(nextNonFinite(values, [2, 2], 1)).toEqual([1, 1]);
  expect(nextNonFinite(values, [2, 2], 3)).toEqual([0, 1]);
  expect(nextNonFinite([1, 2], [2], null)).toBeNull();
});
