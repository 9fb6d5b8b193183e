import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { convolution, pooling, poolingGradient, type Sample, type Sliding } from "../testing/window-ops.ts";
import { agrees, derive, tolerance, totalOf } from "./contributions.ts";
import { elementCount, ravelIndex, unravelIndex } from "./indexing.ts";
import { LoopNest, type ReadCell } from "./loop-nest.ts";

const row: Sliding = { batch: 1, sizes: [4], channels: 1, window: [2], stride: 2, dilation: 1, pad: 0 };

function asked(
  { accessMaps, shapes }: Sample,
  held: Record<string, readonly number[]>,
  output: string,
  place: number,
) {
  const readCell: ReadCell = (tensor, at) => held[tensor]?.[at];
  const nests = accessMaps.map((accessMap) => new LoopNest(accessMap, shapes));
  return derive(nests, output, place, readCell);
}

function roles(...given: Parameters<typeof asked>): string[] {
  return asked(...given).flatMap(({ contributions }) => contributions.map(({ role }) => role));
}

describe("a maximum", () => {
  const sample = pooling({ ...row, window: [4] }, "max");

  test("is the first of equals, and the others tie", () => {
    expect(roles(sample, { x: [1, 3, 3, 2] }, "y", 0)).toEqual(["loses", "wins", "ties", "loses"]);
    expect(totalOf(asked(sample, { x: [1, 3, 3, 2] }, "y", 0))).toBe(3);
  });

  test("is NaN where a cell is", () => {
    expect(roles(sample, { x: [1, Number.NaN, 3, Number.NaN] }, "y", 0)).toEqual([
      "loses",
      "wins",
      "loses",
      "ties",
    ]);
    expect(totalOf(asked(sample, { x: [1, Number.NaN, 3, 2] }, "y", 0))).toBeNaN();
  });

  test("is not known where a value is not", () => {
    expect(totalOf(asked(sample, { x: [1, 2] }, "y", 0))).toBeUndefined();
  });
});

test("a mean divides by the cells that exist, not by the size of the window", () => {
  const sample = pooling({ ...row, window: [3], pad: 1 }, "mean");
  const [first] = asked(sample, { x: [2, 4, 6, 8] }, "y", 0);
  expect([first?.divisor, first?.total]).toEqual([2, 3]);
  const [second] = asked(sample, { x: [2, 4, 6, 8] }, "y", 1);
  expect([second?.divisor, second?.total]).toEqual([3, 6]);
});

test("a share is divided by how many cells its own window has", () => {
  const { accessMaps, shapes } = pooling({ ...row, window: [3], pad: 1 }, "mean");
  const accessMap = accessMaps[0] as Sample["accessMaps"][number];
  const back: Sample = { accessMaps: [{ ...accessMap, rule: "shares", of: ["y"] }], shapes };
  const [found] = asked(back, { y: [6, 9] }, "x", 1);
  expect(found?.contributions.map(({ divisor, amount }) => [divisor, amount])).toEqual([
    [2, 3],
    [3, 3],
  ]);
  expect(found?.total).toBe(6);
});

describe("what comes back through a maximum", () => {
  const sample = poolingGradient({ ...row, window: [3], stride: 1 });
  const held = { x: [5, 1, 5, 2], dy: [10, 20] };

  test("comes from the windows that the cell won, and of equals the first wins", () => {
    expect([0, 1, 2, 3].map((place) => totalOf(asked(sample, held, "dx", place)))).toEqual([10, 0, 20, 0]);
    expect(roles(sample, held, "dx", 2)).toEqual(["ties", "wins"]);
  });
});

test("the sums of products are those of a convolution, and within rounding of them in float32", () => {
  const sliding = fc.record({
    size: fc.integer({ min: 2, max: 5 }),
    window: fc.integer({ min: 1, max: 3 }),
    channels: fc.integer({ min: 1, max: 2 }),
    pad: fc.integer({ min: 0, max: 1 }),
    values: fc.array(
      fc.integer({ min: -400, max: 400 }).map((each) => each / 100),
      { minLength: 200, maxLength: 200 },
    ),
  });
  fc.assert(
    fc.property(sliding, ({ size, window, channels, pad, values }) => {
      const how = {
        batch: 1,
        sizes: [size, size],
        window: [window, window],
        channels,
        stride: 1,
        dilation: 1,
        pad,
      };
      fc.pre(size + 2 * pad >= window);
      const sample = convolution(how, 2);
      const held = { x: values.slice(0, 100), w: values.slice(100) };
      const { x: xs, w: ws, y: ys } = sample.shapes as Record<"x" | "w" | "y", number[]>;
      for (let place = 0; place < elementCount(ys); place++) {
        const [, row = 0, column = 0, filter = 0] = unravelIndex(place, ys);
        let sum = 0;
        for (let i = 0; i < window; i++)
          for (let j = 0; j < window; j++)
            for (let c = 0; c < channels; c++) {
              const [r, k] = [row - pad + i, column - pad + j];
              if (r < 0 || k < 0 || r >= size || k >= size) continue;
              sum +=
                (held.x[ravelIndex([0, r, k, c], xs)] as number) *
                (held.w[ravelIndex([i, j, c, filter], ws)] as number);
            }
        const found = asked(sample, held, "y", place);
        const total = totalOf(found) as number;
        expect(agrees(total, sum, tolerance(found, "float64"))).toBe(true);
        expect(agrees(total, Math.fround(sum), tolerance(found, "float32"))).toBe(true);
        expect(agrees(total + 0.001 + Math.abs(total), sum, tolerance(found, "float32"))).toBe(false);
      }
    }),
    { numRuns: 40 },
  );
}, 60_000);
