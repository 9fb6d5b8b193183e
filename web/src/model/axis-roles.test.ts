import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  AXIS_ROLES,
  type AxisRole,
  defaultRoles,
  fitArrangement,
  GRID_ROLES,
  moveAxis,
  nextRole,
  roleOfAxis,
  shownTiles,
  tileLimits,
} from "./axis-roles.ts";

const names = (axes: string, shape: number[]) => {
  const roles = defaultRoles(shape, [...axes]);
  const name = (axis: number | null) => (axis === null ? "" : axes[axis]);
  return [...GRID_ROLES.map((place) => name(roles[place])), roles.sliders.map(name).join("")].join("|");
};

describe("axes find their roles", () => {
  test.each([
    ["NDHWC", [2, 8, 8, 8, 3], "H|W|D|C|N"],
    ["NCDHW", [2, 3, 8, 8, 8], "H|W|D|C|N"],
    ["DHWIO", [3, 3, 3, 2, 4], "H|W|D|I|O"],
    ["NHWC", [2, 8, 8, 3], "H|W|C||N"],
    ["HWIO", [3, 3, 2, 4], "H|W|I|O|"],
    ["NHWC", [1, 8, 8, 1], "H|W|||NC"],
    ["NHWC", [4, 1, 1, 1], "N||||HWC"],
    ["NHWC", [1, 1, 1, 4], "|C|||NHW"],
  ])("of %s %j", (axes, shape, expected) => {
    expect(names(axes, shape)).toBe(expected);
  });
  test("without names the last ones are shown", () => {
    expect(defaultRoles([5])).toMatchObject({ rows: null, columns: 0, sliders: [] });
    expect(defaultRoles([4, 5])).toMatchObject({ rows: 0, columns: 1 });
    expect(defaultRoles([2, 1])).toMatchObject({ rows: 0, columns: 1, sliders: [] });
    expect(defaultRoles([1, 2])).toMatchObject({ rows: 0, columns: 1, sliders: [] });
    expect(defaultRoles([1, 3, 1])).toMatchObject({ rows: 1, columns: null, sliders: [0, 2] });
    expect(defaultRoles([2, 3, 4, 5, 6, 7, 8, 9])).toEqual({
      columns: 7,
      rows: 6,
      across: 5,
      down: 4,
      sliders: [0, 1, 2, 3],
    });
    expect(defaultRoles([])).toEqual({ rows: null, columns: null, across: null, down: null, sliders: [] });
  });
});

test("however axes are moved, each is in one role, and no place has two", () => {
  const moves = fc.array(fc.tuple(fc.nat(7), fc.constantFrom<AxisRole>(...AXIS_ROLES)), { maxLength: 30 });
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 }),
      moves,
      (shape, all) => {
        let roles = defaultRoles(shape);
        for (const [axis, to] of all) {
          const moved = axis % shape.length;
          roles = moveAxis(roles, moved, to);
          expect(roleOfAxis(roles, moved)).toBe(to);
        }
        const held = [
          ...GRID_ROLES.map((place) => roles[place]).filter((axis) => axis !== null),
          ...roles.sliders,
        ];
        expect(held.sort()).toEqual(shape.map((_, axis) => axis));
      },
    ),
  );
});

test("an axis that goes to a place that is taken changes places with the one there", () => {
  const roles = defaultRoles([2, 8, 8, 8, 3], [..."NDHWC"]);
  expect(moveAxis(roles, 0, "rows")).toMatchObject({ rows: 0, sliders: [2] });
  expect(moveAxis(roles, 2, "columns")).toMatchObject({ rows: 3, columns: 2 });
  expect(moveAxis(roles, 1, "sliders")).toMatchObject({ across: null, sliders: [0, 1] });
});

test("the keys go round all roles", () => {
  let role: AxisRole = "rows";
  for (let i = 0; i < AXIS_ROLES.length; i++) role = nextRole(role, 1);
  expect(role).toBe("rows");
  expect(nextRole("rows", -1)).toBe("sliders");
});

test("an arrangement is kept while it fits, and stays inside of a tensor that became smaller", () => {
  const before = { roles: defaultRoles([4, 4, 4]), at: [3, 0, 0] };
  expect(fitArrangement(before, [4, 4, 4], [])).toBe(before);
  expect(fitArrangement(before, [2, 4, 4], []).at).toEqual([1, 0, 0]);
  expect(fitArrangement(before, [4, 4], []).at).toEqual([0, 0]);
  expect(fitArrangement(undefined, [2], []).roles.columns).toBe(0);
});

test("of many tiles the first, the last and those around the cursor are shown", () => {
  expect(shownTiles(5, 8, 0)).toEqual([0, 1, 2, 3, 4]);
  expect(shownTiles(100, 8, 0)).toEqual([0, 1, 2, 3, 4, 5, -1, 98, 99]);
  expect(shownTiles(100, 8, 50)).toEqual([0, 1, -1, 48, 49, 50, 51, -1, 98, 99]);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 500 }),
      fc.integer({ min: 3, max: 64 }),
      fc.nat(),
      (size, most, at) => {
        const focus = at % size;
        const shown = shownTiles(size, most, focus);
        const places = shown.filter((place) => place >= 0);
        expect(places.length).toBe(Math.min(size, most));
        expect(places).toEqual([...new Set(places)].sort((a, b) => a - b));
        for (const place of [0, focus, size - 1]) expect(places).toContain(place);
      },
    ),
  );
});

test("there are never more than 64 tiles, and of a few none is left out", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 1000 }), (across, down) => {
      const [most, mostDown] = tileLimits(across, down);
      expect(most * mostDown).toBeLessThanOrEqual(64);
      expect(Math.min(most, mostDown)).toBeGreaterThan(0);
    }),
  );
  for (let across = 1; across <= 64; across++)
    for (let down = 1; across * down <= 64; down++) expect(tileLimits(across, down)).toEqual([across, down]);
});
