import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AXIS_ROLES, defaultArrangement, moveAxis } from "./axis-roles.ts";
import { offsetIn, sliceSize } from "./slices.ts";
import {
  cellPosition,
  cellSize,
  cellSizeToFit,
  hitCell,
  MAX_FETCHED,
  MIN_NUMBER_WIDTH,
  moveCursor,
  revealCell,
  samplingFor,
  samplingWithin,
  tileLayout,
  visibleRange,
  visibleSlices,
  withOverscan,
} from "./tiles.ts";

const tensors = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 6 }).chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    arrangement: fc
      .array(fc.tuple(fc.nat(shape.length - 1), fc.constantFrom(...AXIS_ROLES)), { maxLength: 6 })
      .map((moves) => ({
        roles: moves.reduce(
          (roles, [axis, to]) => moveAxis(roles, axis, to),
          defaultArrangement(shape).roles,
        ),
        at: shape.map(() => 0),
      })),
    cell: fc.tuple(...shape.map((size) => fc.nat(size - 1))) as fc.Arbitrary<number[]>,
    width: fc.constantFrom(1, 5, 28, 40),
  }),
);

test("a cell that is brought into sight stands where it is found again", () => {
  fc.assert(
    fc.property(tensors, ({ shape, arrangement, cell, width }) => {
      const tiles = tileLayout(shape, revealCell(arrangement, cell), cellSize(width));
      const place = cellPosition(tiles, cell) as { x: number; y: number };
      expect(place).toBeDefined();
      expect(hitCell(tiles, place.x + tiles.cell.width / 2, place.y + tiles.cell.height / 2)).toEqual(cell);
      expect(place.x + tiles.cell.width).toBeLessThanOrEqual(tiles.whole.width);
      expect(place.y + tiles.cell.height).toBeLessThanOrEqual(tiles.whole.height);
    }),
  );
});

test("every cell that a view touches is in the boxes that are fetched for it", () => {
  const views = fc.record({
    x: fc.nat(400),
    y: fc.nat(400),
    width: fc.integer({ min: 1, max: 300 }),
    height: fc.integer({ min: 1, max: 300 }),
  });
  fc.assert(
    fc.property(tensors, views, ({ shape, arrangement, cell, width }, view) => {
      const tiles = tileLayout(shape, revealCell(arrangement, cell), cellSize(width));
      const place = cellPosition(tiles, cell) as { x: number; y: number };
      const touched =
        place.x < view.x + view.width &&
        place.x + tiles.cell.width > view.x &&
        place.y < view.y + view.height &&
        place.y + tiles.cell.height > view.y;
      fc.pre(touched);
      const seen = visibleRange(tiles, view);
      for (const steps of [
        { rows: 1, columns: 1 },
        { rows: 2, columns: 3 },
      ])
        for (const what of [seen, withOverscan(tiles, seen)])
          expect(visibleSlices(tiles, what, steps).filter((box) => offsetIn(box, cell) >= 0)).toHaveLength(1);
    }),
  );
});

test("only what is seen is fetched", () => {
  const arrangement = defaultArrangement([1000, 1000]);
  const tiles = tileLayout([1000, 1000], arrangement, cellSize(40));
  const [box] = visibleSlices(tiles, visibleRange(tiles, { x: 4008, y: 0, width: 400, height: 310 }));
  expect(box).toEqual([
    { first: 0, end: 10, step: 1 },
    { first: 100, end: 110, step: 1 },
  ]);
});

test("of more than a million cells that are all seen, rows are left out rather than more than a megabyte fetched", () => {
  const tiles = tileLayout([1001, 1000], defaultArrangement([1001, 1000]), cellSize(1));
  const seen = visibleRange(tiles, { x: 0, y: 0, ...tiles.whole });
  const steps = samplingWithin(tiles, seen, samplingFor(tiles, 1));
  expect(steps).toEqual({ rows: 2, columns: 1 });
  expect(visibleSlices(tiles, seen, steps).reduce((sum, box) => sum + sliceSize(box), 0)).toBeLessThan(
    MAX_FETCHED,
  );
  const million = tileLayout([1000, 1000], defaultArrangement([1000, 1000]), cellSize(1));
  const all = visibleRange(million, { x: 0, y: 0, ...million.whole });
  expect(samplingWithin(million, all, samplingFor(million, 1))).toEqual({ rows: 1, columns: 1 });
});

test("tiles on both sides of a gap are fetched apart", () => {
  const arrangement = defaultArrangement([200, 2, 2]);
  const tiles = tileLayout([200, 2, 2], arrangement, cellSize(2));
  const boxes = visibleSlices(tiles, visibleRange(tiles, { x: 0, y: 0, ...tiles.whole }));
  expect(boxes.map(([across]) => [across?.first, across?.end])).toEqual([
    [0, 62],
    [198, 200],
  ]);
});

describe("cells are as wide as fits", () => {
  const widest = (shape: number[], width: number, height: number) =>
    cellSizeToFit(shape, defaultArrangement(shape), { width, height }, 1).width;
  test("with room for numbers where there are few", () => {
    expect(widest([3, 3], 600, 300)).toBeGreaterThanOrEqual(MIN_NUMBER_WIDTH);
  });
  test("with a whole number of cells for a pixel where there are many", () => {
    const width = widest([1000, 1000], 600, 300);
    expect(1 / width).toBe(Math.round(1 / width));
    expect(width * 1000).toBeLessThanOrEqual(300);
  });
  test("and high enough to be seen where there is one row, of which not every cell is fetched", () => {
    const arrangement = defaultArrangement([1_000_000]);
    const cell = cellSizeToFit([1_000_000], arrangement, { width: 600, height: 300 }, 1);
    expect(cell.height).toBeGreaterThanOrEqual(16);
    const tiles = tileLayout([1_000_000], arrangement, cell);
    expect(samplingFor(tiles, 1).rows).toBe(1);
    const [box] = visibleSlices(
      tiles,
      visibleRange(tiles, { x: 0, y: 0, width: 600, height: 300 }),
      samplingFor(tiles, 1),
    );
    expect(sliceSize(box ?? [])).toBeLessThanOrEqual(600);
  });
  test("and tiles can still be seen where all of them would not fit", () => {
    const tileOf = (shape: number[]) => {
      const arrangement = defaultArrangement(shape);
      const cell = cellSizeToFit(shape, arrangement, { width: 490, height: 160 }, 1);
      const { columns, rows } = tileLayout(shape, arrangement, cell);
      return [columns * cell.width, rows * cell.height].map(Math.round);
    };
    expect(tileOf([10_000, 1000, 1000])).toEqual([125, 125]);
    expect(tileOf([10_000, 10, 1000])).toEqual([333, 10]);
    expect(tileOf([100, 100, 60, 60])).toEqual([30, 30]);
  });
  test("so that all tiles are seen", () => {
    fc.assert(
      fc.property(tensors, ({ shape, arrangement }) => {
        const view = { width: 500, height: 400 };
        const { whole } = tileLayout(shape, arrangement, cellSizeToFit(shape, arrangement, view, 1));
        expect(whole.width).toBeLessThanOrEqual(view.width);
        expect(whole.height).toBeLessThanOrEqual(view.height);
      }),
    );
  });
});

describe("a step", () => {
  const shape = [2, 3, 4];
  const tiles = tileLayout(shape, defaultArrangement(shape), cellSize(28));
  test("beyond the edge of a tile leads to the next one", () => {
    expect(moveCursor(tiles, [0, 1, 3], "right")).toEqual([1, 1, 0]);
    expect(moveCursor(tiles, [1, 1, 0], "left")).toEqual([0, 1, 3]);
  });
  test("beyond the last cell leads nowhere", () => {
    expect(moveCursor(tiles, [1, 1, 3], "right")).toEqual([1, 1, 3]);
    expect(moveCursor(tiles, [0, 2, 0], "down")).toEqual([0, 2, 0]);
  });
  test("may go to the ends of a row, and of all that is shown", () => {
    expect(moveCursor(tiles, [1, 1, 1], "first")).toEqual([1, 1, 0]);
    expect(moveCursor(tiles, [0, 1, 1], "end")).toEqual([1, 2, 3]);
    expect(moveCursor(tiles, [1, 1, 1], "start")).toEqual([0, 0, 0]);
  });
});
