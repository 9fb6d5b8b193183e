/**
 * An orthographic ray caster for voxels. From each pixel a ray walks the grid, voxel by voxel, until it meets a shown
 * one. The cost does not depend on the number of shown voxels, picking comes for free, and no GPU is needed.
 */

import { type Arrangement, type AxisRoles, defaultRoles } from "./axis-roles.ts";

export interface Camera {
  /** In radians. */
  readonly yaw: number;
  readonly pitch: number;
}

/** The number of voxels in width, height and depth. */
export type Sides = readonly [x: number, y: number, z: number];

const MAX_SIDE = 64;

/** The tensor axes along width, height and depth: columns, rows, tiles. */
export type VoxelAxes = readonly [x: number, y: number, z: number];

/** Why there is no 3-D view: too few axes are shown, or one is too long. */
export type NoVoxels = { readonly few: number } | { readonly long: number; readonly most: number };

/** The axes of the 3-D view, or why there is none. */
export function voxelAxes(
  { columns, rows, across, down }: AxisRoles,
  shape: readonly number[],
): VoxelAxes | NoVoxels {
  const seen = [columns, rows, across, down].filter((axis) => axis !== null && (shape[axis] as number) > 1);
  const axes = seen.slice(0, 3) as number[];
  if (axes.length < 3) return { few: axes.length };
  const long = axes.find((axis) => (shape[axis] as number) > MAX_SIDE);
  return long === undefined ? (axes as unknown as VoxelAxes) : { long, most: MAX_SIDE };
}

/** The axes that the 3-D view does not show, each at one index. */
export function hiddenAxes(roles: AxisRoles, shape: readonly number[]): readonly number[] {
  const axes = voxelAxes(roles, shape);
  return "map" in axes ? shape.flatMap((_, axis) => (axes.includes(axis) ? [] : [axis])) : roles.sliders;
}

/** An arrangement with at least three shown axes: the default one if it has fewer. */
export function withVoxelAxes(
  arrangement: Arrangement,
  shape: readonly number[],
  names: readonly string[],
): Arrangement {
  if (!("few" in voxelAxes(arrangement.roles, shape))) return arrangement;
  return { roles: defaultRoles(shape, names), at: arrangement.at };
}

/** A 3-D slice of a tensor. */
export interface VoxelGrid {
  readonly axes: VoxelAxes;
  readonly sides: Sides;
  readonly values: Float32Array;
  /** The largest absolute value. */
  readonly most: number;
  /** The voxel of a cell; -1 if it is outside. */
  indexOf(cell: readonly number[]): number;
  cellOf(index: number): number[];
}

/** The voxels at the given indices of the other axes. */
export function voxelGrid(
  axes: VoxelAxes,
  shape: readonly number[],
  at: readonly number[],
  value: (cell: readonly number[]) => number,
): VoxelGrid {
  const sides = axes.map((axis) => shape[axis] as number) as unknown as Sides;
  const [nx, ny, nz] = sides;
  const cellOf = (index: number): number[] => {
    const cell = [...at];
    const where = [index % nx, Math.floor(index / nx) % ny, Math.floor(index / (nx * ny))];
    for (const [i, axis] of axes.entries()) cell[axis] = where[i] as number;
    return cell;
  };
  const indexOf = (cell: readonly number[]): number => {
    if (cell.some((place, axis) => !axes.includes(axis) && place !== at[axis])) return -1;
    const [x, y, z] = axes.map((axis) => cell[axis] as number) as [number, number, number];
    return x + nx * (y + ny * z);
  };
  const values = Float32Array.from({ length: nx * ny * nz }, (_, i) => value(cellOf(i)));
  const most = values.reduce(
    (size, each) => (Number.isFinite(each) ? Math.max(size, Math.abs(each)) : size),
    0,
  );
  return { axes, sides, values, most, indexOf, cellOf };
}

/** The mask of voxels whose absolute value reaches a part of the largest; NaN always does. */
export function aboveThreshold({ values, most }: VoxelGrid, part: number): Uint8Array {
  return Uint8Array.from(values, (value) => (Number.isNaN(value) || Math.abs(value) >= part * most ? 1 : 0));
}

/** The voxel and face at each pixel. */
export interface PickBuffer {
  readonly width: number;
  readonly height: number;
  /** The voxel, x + sides.x * (y + sides.y * z); -1 for none. */
  readonly cells: Int32Array;
  /** The normal axis of the visible face, plus EDGE at its edges. */
  readonly faces: Uint8Array;
}

export const EDGE = 4;
/** In pixels. */
const MIN_FACE = 7;

export function renderVoxels(
  sides: Sides,
  shown: Uint8Array,
  eye: Camera,
  width: number,
  height: number,
): PickBuffer {
  const sight = {
    width,
    height,
    cells: new Int32Array(width * height),
    faces: new Uint8Array(width * height),
  };
  const rays = new RayCaster(sides, eye, width, height);
  for (let py = 0, i = 0; py < height; py++) {
    for (let px = 0; px < width; px++, i++) {
      const found = rays.cast(shown, px + 0.5, py + 0.5);
      sight.cells[i] = found;
      sight.faces[i] = found < 0 ? 0 : rays.face;
    }
  }
  return sight;
}

/** The centroid of the visible pixels of a voxel, and the side of a square of the same area. */
interface VisibleCentre {
  readonly cell: number;
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

/** The centres of visible voxels that are wanted. */
export function visibleCentres(
  { cells, width }: PickBuffer,
  wanted: (cell: number) => boolean,
): VisibleCentre[] {
  const sums = new Map<number, [x: number, y: number, points: number]>();
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i] as number;
    if (cell < 0 || !wanted(cell)) continue;
    const sum = sums.get(cell) ?? [0, 0, 0];
    sum[0] += (i % width) + 0.5;
    sum[1] += Math.floor(i / width) + 0.5;
    sum[2]++;
    sums.set(cell, sum);
  }
  return [...sums].map(([cell, [x, y, points]]) => ({
    cell,
    x: x / points,
    y: y / points,
    size: Math.sqrt(points),
  }));
}

/** Picking: the voxel at a pixel; -1 for none. */
export function pickVoxel(
  sides: Sides,
  shown: Uint8Array,
  eye: Camera,
  size: { width: number; height: number },
  at: { x: number; y: number },
): number {
  return new RayCaster(sides, eye, size.width, size.height).cast(shown, at.x, at.y);
}

/** Casts parallel rays into the grid. */
class RayCaster {
  /** The face of the last hit, as in `PickBuffer`. */
  face = 0;
  private readonly direction: readonly number[];
  private readonly right: readonly number[];
  private readonly down: readonly number[];
  /** The width of a pixel in voxels. */
  private readonly unit: number;

  constructor(
    private readonly sides: Sides,
    { yaw: turn, pitch: tilt }: Camera,
    private readonly width: number,
    private readonly height: number,
  ) {
    const [ct, st, cl, sl] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
    // y goes down, as rows do. No component of the direction may be 0, since it divides.
    this.direction = [st * cl, sl, ct * cl].map((each) => (Math.abs(each) < 1e-9 ? 1e-9 : each));
    this.right = [ct, 0, -st];
    this.down = [-st * sl, cl, -ct * sl];
    this.unit = Math.hypot(...sides) / Math.min(width, height);
  }

  /** The first shown voxel on the ray of a pixel; -1 if there is none. */
  cast(shown: Uint8Array, px: number, py: number): number {
    const [nx, ny, nz] = this.sides;
    const [wx, wy, wz] = this.direction as [number, number, number];
    const ox = this.start(0, px, py);
    const oy = this.start(1, px, py);
    const oz = this.start(2, px, py);
    // Ray parameters where it enters through each pair of sides, and where it leaves.
    const ex = ((wx > 0 ? 0 : nx) - ox) / wx;
    const ey = ((wy > 0 ? 0 : ny) - oy) / wy;
    const ez = ((wz > 0 ? 0 : nz) - oz) / wz;
    let now = Math.max(ex, ey, ez);
    const end = Math.min(
      ((wx > 0 ? nx : 0) - ox) / wx,
      ((wy > 0 ? ny : 0) - oy) / wy,
      ((wz > 0 ? nz : 0) - oz) / wz,
    );
    if (now >= end) return -1;
    let across = now === ex ? 0 : now === ey ? 1 : 2;
    let x = inside(ox + wx * now, wx, nx);
    let y = inside(oy + wy * now, wy, ny);
    let z = inside(oz + wz * now, wz, nz);
    // Ray parameters of the next voxel border along each axis, and the distance between borders.
    let tx = (x + (wx > 0 ? 1 : 0) - ox) / wx;
    let ty = (y + (wy > 0 ? 1 : 0) - oy) / wy;
    let tz = (z + (wz > 0 ? 1 : 0) - oz) / wz;
    const dx = Math.abs(1 / wx);
    const dy = Math.abs(1 / wy);
    const dz = Math.abs(1 / wz);
    while (x >= 0 && y >= 0 && z >= 0 && x < nx && y < ny && z < nz) {
      const cell = x + nx * (y + ny * z);
      if (shown[cell]) {
        const edge =
          (across !== 0 && this.nearEdge(ox + wx * now)) ||
          (across !== 1 && this.nearEdge(oy + wy * now)) ||
          (across !== 2 && this.nearEdge(oz + wz * now));
        this.face = edge ? across + EDGE : across;
        return cell;
      }
      if (tx <= ty && tx <= tz) {
        now = tx;
        across = 0;
        tx += dx;
        x += wx > 0 ? 1 : -1;
      } else if (ty <= tz) {
        now = ty;
        across = 1;
        ty += dy;
        y += wy > 0 ? 1 : -1;
      } else {
        now = tz;
        across = 2;
        tz += dz;
        z += wz > 0 ? 1 : -1;
      }
    }
    return -1;
  }

  /** The origin of a ray, outside of the grid. */
  private start(axis: 0 | 1 | 2, px: number, py: number): number {
    const u = (px - this.width / 2) * this.unit;
    const v = (py - this.height / 2) * this.unit;
    const before = this.sides[0] + this.sides[1] + this.sides[2];
    return (
      this.sides[axis] / 2 +
      u * (this.right[axis] as number) +
      v * (this.down[axis] as number) -
      before * (this.direction[axis] as number)
    );
  }

  /** Whether a coordinate is at the edge of a face; small faces have no edges. */
  private nearEdge(at: number): boolean {
    if (this.unit > 1 / MIN_FACE) return false;
    const part = at - Math.floor(at);
    return part < 0.9 * this.unit || part > 1 - 0.9 * this.unit;
  }
}

function inside(at: number, direction: number, size: number): number {
  return Math.min(Math.max(Math.floor(at + direction * 1e-7), 0), size - 1);
}
