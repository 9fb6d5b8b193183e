import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Rect, SpatialIndex } from "./geometry.ts";
import { crossed, routeAround } from "./wire-route.ts";

const block = (x: number, y: number): Rect => ({ x, y, width: 200, height: 120 });
const NONE = new Set<string>();

describe("a wire", () => {
  test("goes straight where nothing is in its way", () => {
    const blocks = new SpatialIndex([["a", block(0, 0)]]);
    expect(routeAround({ x: 200, y: 40 }, { x: 500, y: 60 }, blocks, ["a"])).toHaveLength(1);
  });

  test("goes around a block between its ends, on the nearer side", () => {
    const blocks = new SpatialIndex([
      ["a", block(0, 0)],
      ["between", block(300, 0)],
      ["b", block(600, 0)],
    ]);
    const curves = routeAround({ x: 200, y: 39 }, { x: 600, y: 39 }, blocks, ["a", "b"]);
    expect(crossed(curves, blocks, new Set(["a", "b"]))).toEqual([]);
    expect(curves[0]?.[3].y).toBeLessThan(0);
  });

  test("goes around what stands behind the first obstacle too", () => {
    const blocks = new SpatialIndex([
      ["one", block(300, 0)],
      ["above", block(300, -140)],
      ["two", block(600, 10)],
    ]);
    const curves = routeAround({ x: 200, y: 39 }, { x: 1000, y: 39 }, blocks, []);
    expect(crossed(curves, blocks, NONE)).toEqual([]);
  });

  test("that goes back passes above or below both ends", () => {
    const blocks = new SpatialIndex([
      ["b", block(0, 0)],
      ["between", block(300, 0)],
      ["a", block(600, 0)],
    ]);
    const ends = new Set(["a", "b"]);
    const curves = routeAround({ x: 800, y: 39 }, { x: 0, y: 39 }, blocks, [...ends]);
    expect(crossed(curves, blocks, ends)).toEqual([]);
  });

  test("crosses no block of a grid", () => {
    fc.assert(
      fc.property(fc.nat(3), fc.nat(3), fc.integer({ min: 1, max: 3 }), (fromRow, toRow, columns) => {
        const blocks = new SpatialIndex();
        for (let column = 0; column <= columns; column++)
          for (let row = 0; row < 4; row++) blocks.set(`${column} ${row}`, block(column * 312, row * 160));
        const ends = [`0 ${fromRow}`, `${columns} ${toRow}`];
        const curves = routeAround(
          { x: 200, y: fromRow * 160 + 39 },
          { x: columns * 312, y: toRow * 160 + 39 },
          blocks,
          ends,
        );
        expect(crossed(curves, blocks, new Set(ends))).toEqual([]);
      }),
    );
  });
});
