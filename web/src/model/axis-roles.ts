/** Which axis of a tensor runs where: down the rows, along the columns, from tile to tile, or behind a slider. */

/** What shows one axis. The others stand at one place each, and have sliders. */
export const GRID_ROLES = ["rows", "columns", "across", "down"] as const;
export type GridRole = (typeof GRID_ROLES)[number];
export type AxisRole = GridRole | "sliders";
export const AXIS_ROLES: readonly AxisRole[] = [...GRID_ROLES, "sliders"];

export interface AxisRoles extends Readonly<Record<GridRole, number | null>> {
  readonly sliders: readonly number[];
}

/** The axes in their roles, and for every axis the place at which it stands where it is not shown whole. */
export interface Arrangement {
  readonly roles: AxisRoles;
  readonly at: readonly number[];
}

/** Axes by name, in the order in which they are given a place. */
const DEFAULT_AXES: Readonly<Record<GridRole, readonly string[]>> = {
  rows: ["H"],
  columns: ["W"],
  across: ["D", "I", "C"],
  down: ["I", "C", "O"],
};

/** Images and volumes as one expects them; of other tensors the last axes. Axes of one place are not shown. */
export function defaultRoles(shape: readonly number[], axes: readonly string[] = []): AxisRoles {
  const free = shape.map((_, axis) => axis).filter((axis) => shape[axis] !== 1);
  const taken: Record<GridRole, number | null> = { rows: null, columns: null, across: null, down: null };
  const take = (place: GridRole, axis: number | undefined): void => {
    if (axis === undefined) return;
    taken[place] = axis;
    free.splice(free.indexOf(axis), 1);
  };
  const named = axes.length === shape.length && axes.includes("H") && axes.includes("W");
  const wanted = (place: GridRole) =>
    DEFAULT_AXES[place].map((name) => axes.indexOf(name)).find((axis) => free.includes(axis));
  if (named) for (const place of GRID_ROLES) take(place, wanted(place));
  else for (const place of ["columns", "rows", "across", "down"] as const) take(place, free.at(-1));
  // An image of one row is still an image: something must run along the columns.
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

/** Puts an axis into a role. The axis that was there takes the place from which this one came. */
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

/** The next role with `by` 1, the one before with -1, round and round. */
export function nextRole(role: AxisRole, by: 1 | -1): AxisRole {
  return AXIS_ROLES[(AXIS_ROLES.indexOf(role) + by + AXIS_ROLES.length) % AXIS_ROLES.length] as AxisRole;
}

/** How many places an axis in a role has; one if there is none. */
export function roleSize(roles: AxisRoles, place: GridRole, shape: readonly number[]): number {
  const axis = roles[place];
  return axis === null ? 1 : (shape[axis] as number);
}

/** An arrangement that still fits a tensor, whose sizes may be others now; a new one if it does not. */
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
 * The tiles of an axis that are shown: all, or of more than `most` the first two, the last two and those around
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

/** How many tiles may be shown across and down, so that all together are not too many. */
export function tileLimits(across: number, down: number): [number, number] {
  if (across * down <= MAX_TILES) return [across, down];
  const fewDown = Math.min(down, Math.max(8, Math.floor(MAX_TILES / across)));
  return [Math.min(across, Math.floor(MAX_TILES / fewDown)), fewDown];
}
