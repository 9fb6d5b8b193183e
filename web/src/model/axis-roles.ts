/** Axis roles: which axis of a tensor is shown as rows, columns, tiles across or tiles down, and which get a slider. */

/** Roles that show all of one axis. Every other axis is at one index, which a slider sets. */
export const GRID_ROLES = ["rows", "columns", "across", "down"] as const;
export type GridRole = (typeof GRID_ROLES)[number];
export type AxisRole = GridRole | "sliders";
export const AXIS_ROLES: readonly AxisRole[] = [...GRID_ROLES, "sliders"];

export interface AxisRoles extends Readonly<Record<GridRole, number | null>> {
  readonly sliders: readonly number[];
}

/** How a tensor is laid out: the roles of its axes, and for every axis the index of the slice that is shown. */
export interface Arrangement {
  readonly roles: AxisRoles;
  readonly at: readonly number[];
}

/** The axes that each role prefers, by name, the first that is free. */
const DEFAULT_AXES: Readonly<Record<GridRole, readonly string[]>> = {
  rows: ["H"],
  columns: ["W"],
  across: ["D", "I", "C"],
  down: ["I", "C", "O"],
};

/**
 * The default roles: H and W as rows and columns, else the last axes. Axes of size 1 get sliders, but those of a matrix:
 * [2, 1] is a column. Of more axes a single long one is a row only if it is the last.
 */
export function defaultRoles(shape: readonly number[], axes: readonly string[] = []): AxisRoles {
  const free = shape.map((_, axis) => axis).filter((axis) => shape[axis] !== 1);
  const taken: Record<GridRole, number | null> = { rows: null, columns: null, across: null, down: null };
  const take = (place: GridRole, axis: number | undefined): void => {
    if (axis === undefined) return;
    taken[place] = axis;
    free.splice(free.indexOf(axis), 1);
  };
  const matrix = shape.length === 2;
  const named = axes.length === shape.length && axes.includes("H") && axes.includes("W");
  const wanted = (place: GridRole) =>
    DEFAULT_AXES[place].map((name) => axes.indexOf(name)).find((axis) => free.includes(axis));
  if (matrix) Object.assign(taken, { rows: 0, columns: 1 });
  else if (free.length === 1) take(free[0] === shape.length - 1 ? "columns" : "rows", free[0]);
  else if (named) for (const place of GRID_ROLES) take(place, wanted(place));
  else for (const place of ["columns", "rows", "across", "down"] as const) take(place, free.at(-1));
  // A single row still needs columns.
  if (taken.columns === null && taken.rows === null) take("columns", free.at(-1));
  return { ...taken, sliders: shape.map((_, axis) => axis).filter((axis) => !isShown(taken, axis)) };
}

function isShown(taken: Readonly<Record<GridRole, number | null>>, axis: number): boolean {
  return GRID_ROLES.some((place) => taken[place] === axis);
}

export function defaultArrangement(shape: readonly number[], axes: readonly string[] = []): Arrangement {
  return { roles: defaultRoles(shape, axes), at: shape.map(() => 0) };
}

export function roleOfAxis(roles: AxisRoles, axis: number): AxisRole {
  return GRID_ROLES.find((place) => roles[place] === axis) ?? "sliders";
}

/** Gives an axis a role, and swaps with the axis that had it. */
export function moveAxis(roles: AxisRoles, axis: number, to: AxisRole): AxisRoles {
  const from = roleOfAxis(roles, axis);
  if (from === to) return roles;
  const other = to === "sliders" ? null : roles[to];
  const sliders = roles.sliders.filter((each) => each !== axis);
  const moved: AxisRoles = { ...roles, sliders };
  const filled =
    to === "sliders" ? { ...moved, sliders: inOrder([...sliders, axis]) } : { ...moved, [to]: axis };
  if (from !== "sliders") return { ...filled, [from]: other };
  return other === null ? filled : { ...filled, sliders: inOrder([...filled.sliders, other]) };
}

function inOrder(axes: number[]): number[] {
  return axes.sort((a, b) => a - b);
}

/** The next role with `by` 1, the previous one with -1, cyclically. */
export function nextRole(role: AxisRole, by: 1 | -1): AxisRole {
  return AXIS_ROLES[(AXIS_ROLES.indexOf(role) + by + AXIS_ROLES.length) % AXIS_ROLES.length] as AxisRole;
}

/** The size of the axis in a role; 1 if there is none. */
export function roleSize(roles: AxisRoles, place: GridRole, shape: readonly number[]): number {
  const axis = roles[place];
  return axis === null ? 1 : (shape[axis] as number);
}

/** The arrangement with its indices clamped to a shape; the default one if the rank differs. */
export function fitArrangement(
  arrangement: Arrangement | undefined,
  shape: readonly number[],
  axes: readonly string[],
): Arrangement {
  if (arrangement?.at.length !== shape.length) return defaultArrangement(shape, axes);
  const at = arrangement.at.map((place, axis) => Math.min(place, Math.max((shape[axis] as number) - 1, 0)));
  return at.every((place, axis) => place === arrangement.at[axis]) ? arrangement : { ...arrangement, at };
}

/**
 * The tiles of an axis that are shown: all, or if there are more than `most`, the first, the last and those around
 * `focus`. A gap is -1.
 */
export function shownTiles(size: number, most: number, focus: number): number[] {
  if (size <= most) return Array.from({ length: size }, (_, i) => i);
  const edge = most >= 8 ? 2 : 1;
  const middle = Math.max(1, most - 2 * edge);
  const first = Math.min(Math.max(focus - (middle >> 1), edge), size - edge - middle);
  const range = (from: number, many: number) => Array.from({ length: many }, (_, i) => from + i);
  return [
    ...range(0, edge),
    ...(first > edge ? [-1] : []),
    ...range(first, middle),
    ...(first + middle < size - edge ? [-1] : []),
    ...range(size - edge, edge),
  ];
}

const MAX_TILES = 64;

/** The most tiles across and down, so that there are at most MAX_TILES. */
export function tileLimits(across: number, down: number): [number, number] {
  const fewDown = Math.min(down, Math.max(8, Math.floor(MAX_TILES / across)));
  return [Math.min(across, Math.floor(MAX_TILES / fewDown)), fewDown];
}
