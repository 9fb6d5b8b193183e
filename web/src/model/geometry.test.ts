import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { graphWith, linePage } from "../testing/fixtures.ts";
import {
  BLOCK_WIDTH,
  bendsOf,
  blockHeight,
  blockRects,
  boxRect,
  type Curve,
  contains,
  curveBetween,
  curveBounds,
  curvesBetween,
  distanceTo,
  FOOTER_HEIGHT,
  freePosition,
  inputOffset,
  outputOffset,
  overlaps,
  type Point,
  pointOn,
  type Rect,
  ROW_HEIGHT,
  SpatialIndex,
  snapToGrid,
  TITLE_HEIGHT,
  wireEnds,
} from "./geometry.ts";
import type { BlockView, Wire } from "./graph.ts";

const graph = graphWith(linePage);
const places = blockRects(graph);

function view(name: string): BlockView {
  return graph.blocks.get(name) as BlockView;
}

function wire(id: string): Wire {
  return graph.byId.get(id) as Wire;
}

describe("a block", () => {
  test("is as high as its rows", () => {
    expect(blockHeight(view("product"))).toBe(TITLE_HEIGHT + 2 * ROW_HEIGHT + FOOTER_HEIGHT);
    expect(blockHeight(view("x"))).toBe(TITLE_HEIGHT + 2 * ROW_HEIGHT + FOOTER_HEIGHT);
  });

  test("has inputs at the left and outputs at the right, in the middle of their rows", () => {
    expect(inputOffset(view("product"), "b")).toEqual({ x: 0, y: TITLE_HEIGHT + 1.5 * ROW_HEIGHT });
    expect(outputOffset(view("slope"), "dx[1]")).toEqual({
      x: BLOCK_WIDTH,
      y: TITLE_HEIGHT + 1.5 * ROW_HEIGHT,
    });
  });

  test("stands where the page says, and otherwise where it covers no other", () => {
    expect(places.get("product")).toEqual({
      x: 320,
      y: 0,
      width: BLOCK_WIDTH,
      height: blockHeight(view("product")),
    });
    expect(places.size).toBe(graph.blocks.size);
    const rects = [...places.values()];
    for (const [i, a] of rects.entries())
      for (const b of rects.slice(i + 1)) expect(overlaps(a, b)).toBe(false);
  });

  test("finds a free place below those that are taken", () => {
    const at = freePosition(places.values(), { x: 5, y: 3 }, 100);
    expect(at.x).toBe(8);
    expect(
      [...places.values()].some((rect) => overlaps(rect, { ...at, width: BLOCK_WIDTH, height: 100 })),
    ).toBe(false);
  });
});

test("a frame without a place goes around its blocks", () => {
  const frame = boxRect(linePage, "frames", "forward", places);
  for (const name of ["product", "guess", "error", "loss"]) {
    const rect = places.get(name) as Rect;
    expect(
      contains(frame, rect) && contains(frame, { x: rect.x + rect.width, y: rect.y + rect.height }),
    ).toBe(true);
  }
});

test("places are on the grid and never minus zero", () => {
  expect(snapToGrid(13)).toBe(16);
  expect(Object.is(snapToGrid(-1), 0)).toBe(true);
});

const rects = fc.record({
  x: fc.integer({ min: -3000, max: 3000 }),
  y: fc.integer({ min: -3000, max: 3000 }),
  width: fc.integer({ min: 0, max: 4000 }),
  height: fc.integer({ min: 0, max: 4000 }),
});

test("the grid finds what looking at every rectangle finds", () => {
  fc.assert(
    fc.property(fc.array(rects, { maxLength: 40, size: "max" }), rects, fc.nat(), (all, window, moved) => {
      const grid = new SpatialIndex(all.map((rect, place) => [String(place), rect]));
      const now = new Map(all.map((rect, place) => [String(place), rect as Rect]));
      if (all.length) {
        const name = String(moved % all.length);
        grid.set(name, window);
        now.set(name, window);
        const gone = String((moved + 1) % all.length);
        grid.delete(gone);
        now.delete(gone);
      }
      const expected = [...now].filter(([, rect]) => overlaps(rect, window)).map(([name]) => name);
      expect([...grid.search(window)].sort()).toEqual(expected.sort());
      const under = [...now].filter(([, rect]) => contains(rect, window)).map(([name]) => name);
      const hit = grid.hitTest(window);
      expect(hit === undefined ? under : under.includes(hit)).toEqual(hit === undefined ? [] : true);
    }),
  );
});

describe("a wire", () => {
  test("goes from its output to its input through its bends", () => {
    const ends = wireEnds(graph, places, wire("guess:x"));
    expect(ends).toEqual([
      { x: 320 + BLOCK_WIDTH, y: TITLE_HEIGHT + ROW_HEIGHT / 2 },
      { x: 640, y: TITLE_HEIGHT + ROW_HEIGHT / 2 },
    ]);
    const curves = curvesBetween([
      ends?.[0] as Point,
      ...bendsOf(linePage, wire("guess:x")),
      ends?.[1] as Point,
    ]);
    expect(curves).toHaveLength(2);
    expect(curves[0]?.[3]).toEqual({ x: 560, y: 80 });
    expect(curves[1]?.[3]).toEqual(ends?.[1]);
  });

  test("stays inside its bounds, and its points are on it", () => {
    const point = fc.record({
      x: fc.integer({ min: -500, max: 500 }),
      y: fc.integer({ min: -500, max: 500 }),
    });
    fc.assert(
      fc.property(point, point, fc.double({ min: 0, max: 1, noNaN: true }), (from, to, t) => {
        const curve: Curve = curveBetween(from, to);
        const at = pointOn(curve, t);
        const { x, y, width, height } = curveBounds(curve);
        expect(contains({ x: x - 1e-6, y: y - 1e-6, width: width + 2e-6, height: height + 2e-6 }, at)).toBe(
          true,
        );
        expect(distanceTo(curve, at)).toBeLessThan(4);
      }),
    );
  });
});
