import { describe, expect, test } from "vitest";
import { cellUnder, EDGE, look, type Sides } from "./volume.ts";

const front = { turn: 0, tilt: 0 };

function shownCells(sides: Sides, ...cells: [number, number, number][]): Uint8Array {
  const shown = new Uint8Array(sides[0] * sides[1] * sides[2]);
  for (const [x, y, z] of cells) shown[x + sides[0] * (y + sides[1] * z)] = 1;
  return shown;
}

describe("a box of cells", () => {
  test("from the front, the first shown cell along each line is seen, and nothing beside them", () => {
    const sides: Sides = [3, 3, 3];
    const shown = shownCells(sides, [1, 1, 2], [1, 1, 1], [0, 0, 2]);
    const size = { width: 90, height: 90 };
    const unit = Math.hypot(3, 3, 3) / 90;
    const at = (x: number, y: number) => ({ x: 45 + (x + 0.5 - 1.5) / unit, y: 45 + (y + 0.5 - 1.5) / unit });
    expect(cellUnder(sides, shown, front, size, at(1, 1))).toBe(1 + 3 * (1 + 3 * 1));
    expect(cellUnder(sides, shown, front, size, at(0, 0))).toBe(0 + 3 * (0 + 3 * 2));
    expect(cellUnder(sides, shown, front, size, at(2, 1))).toBe(-1);
  });

  test("turned half around, the last is the first", () => {
    const sides: Sides = [1, 1, 4];
    const shown = shownCells(sides, [0, 0, 0], [0, 0, 3]);
    const size = { width: 50, height: 50 };
    const middle = { x: 25, y: 25 };
    expect(cellUnder(sides, shown, front, size, middle)).toBe(0);
    expect(cellUnder(sides, shown, { turn: Math.PI, tilt: 0 }, size, middle)).toBe(3);
  });

  test("from a corner three faces are seen, each with edges", () => {
    const sides: Sides = [4, 4, 4];
    const { cells, faces } = look(sides, new Uint8Array(64).fill(1), { turn: 0.7, tilt: 0.5 }, 120, 120);
    const seen = new Set([...faces].filter((_, i) => (cells[i] as number) >= 0));
    expect([...seen].sort()).toEqual([0, 1, 2, EDGE, EDGE + 1, EDGE + 2]);
  });
});
