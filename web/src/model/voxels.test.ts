import { describe, expect, test } from "vitest";
import {
  EDGE,
  hiddenAxes,
  pickVoxel,
  renderVoxels,
  type Sides,
  visibleCentres,
  voxelAxes,
  voxelGrid,
  withVoxelAxes,
} from "./voxels.ts";

const front = { yaw: 0, pitch: 0 };

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
    expect(pickVoxel(sides, shown, front, size, at(1, 1))).toBe(1 + 3 * (1 + 3 * 1));
    expect(pickVoxel(sides, shown, front, size, at(0, 0))).toBe(0 + 3 * (0 + 3 * 2));
    expect(pickVoxel(sides, shown, front, size, at(2, 1))).toBe(-1);
  });

  test("turned half around, the last is the first", () => {
    const sides: Sides = [1, 1, 4];
    const shown = shownCells(sides, [0, 0, 0], [0, 0, 3]);
    const size = { width: 50, height: 50 };
    const middle = { x: 25, y: 25 };
    expect(pickVoxel(sides, shown, front, size, middle)).toBe(0);
    expect(pickVoxel(sides, shown, { yaw: Math.PI, pitch: 0 }, size, middle)).toBe(3);
  });

  test("from a corner three faces are seen, each with edges", () => {
    const sides: Sides = [4, 4, 4];
    const { cells, faces } = renderVoxels(
      sides,
      new Uint8Array(64).fill(1),
      { yaw: 0.7, pitch: 0.5 },
      120,
      120,
    );
    const seen = new Set([...faces].filter((_, i) => (cells[i] as number) >= 0));
    expect([...seen].sort()).toEqual([0, 1, 2, EDGE, EDGE + 1, EDGE + 2]);
  });
});

test("the middle of what is seen of a cell is where its shape is drawn", () => {
  const sides: Sides = [2, 1, 2];
  const sight = renderVoxels(sides, shownCells(sides, [0, 0, 0], [1, 0, 1], [0, 0, 1]), front, 60, 60);
  const unit = 3 / 60;
  const found = visibleCentres(sight, (cell) => cell !== 3);
  expect(found.map(({ cell }) => cell)).toEqual([0]);
  expect(found[0]?.x).toBeCloseTo(30 - 0.5 / unit, 0);
  expect(found[0]?.y).toBeCloseTo(30, 0);
  expect(found[0]?.size).toBeCloseTo(1 / unit, 0);
  expect(visibleCentres(sight, () => true)).toHaveLength(2);
});

describe("which axes are a box", () => {
  const roles = (columns: number, rows: number, across: number | null, down: number | null = null) => ({
    columns,
    rows,
    across,
    down,
    sliders: [],
  });
  test("columns, rows and tiles are, and its cells are those of the tensor", () => {
    const shape = [2, 3, 4, 5];
    expect(voxelAxes(roles(3, 2, 1), shape)).toEqual([3, 2, 1]);
    expect(voxelAxes(roles(3, 2, null, 0), shape)).toEqual([3, 2, 0]);
    const box = voxelGrid([3, 2, 1], shape, [1, 0, 0, 0], (cell) =>
      cell.reduce((sum, at) => 10 * sum + at, 0),
    );
    expect(box.sides).toEqual([5, 4, 3]);
    expect([box.values[0], box.values.at(-1), box.most]).toEqual([1000, 1234, 1234]);
    expect(box.cellOf(59)).toEqual([1, 2, 3, 4]);
    expect([box.indexOf([1, 2, 3, 4]), box.indexOf([0, 2, 3, 4])]).toEqual([59, -1]);
  });
  test("the others stand at one place each, and too few are made three", () => {
    const shape = [2, 3, 4, 5];
    expect(hiddenAxes(roles(3, 2, 1, 0), shape)).toEqual([0]);
    const flat = { roles: { ...roles(3, 2, null), sliders: [0, 1] }, at: [1, 2, 0, 0] };
    expect(hiddenAxes(flat.roles, shape)).toEqual([0, 1]);
    const solid = withVoxelAxes(flat, shape, ["N", "D", "H", "W"]);
    expect([voxelAxes(solid.roles, shape), solid.at]).toEqual([[3, 2, 1], flat.at]);
    expect(withVoxelAxes(solid, shape, [])).toBe(solid);
  });
  test("too few or too long ones are none, and it is said why", () => {
    expect(voxelAxes(roles(1, 0, null), [4, 4])).toEqual({ few: 2 });
    expect(voxelAxes(roles(2, 1, 0), [1, 4, 4])).toEqual({ few: 2 });
    expect(voxelAxes(roles(2, 1, 0), [64, 65, 64])).toEqual({ long: 1, most: 64 });
    expect(voxelAxes(roles(2, 1, 0), [64, 64, 64])).toEqual([2, 1, 0]);
  });
});
