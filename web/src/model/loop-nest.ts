/**
 * The loop nest of an op with an access map for each tensor, as `backblocks.ops._access_maps` declares it: which cells of
 * inputs and outputs depend on each other.
 *
 * An access map gives the cell of a tensor at each point of the loops: along each axis an affine function of the loop
 * variables. All points of a given cell are the solutions of linear constraints. Loops that share no constraint are
 * solved apart, and the points are the product of their solutions: along each axis of a convolution, the position of
 * the window and its tap. The whole iteration space is never walked.
 *
 * A cell is its row-major offset, which survives a reshape.
 */

import type { AccessMap, Coordinate } from "../net/generated.ts";
import {
  type Constraint,
  combinationCount,
  MAX_TRIED,
  pairwiseSums,
  type Solutions,
  solve,
  sortedUnique,
  sortInPlace,
  weightedSums,
} from "./constraints.ts";
import { elementCount, stridesOf, unravelIndex } from "./indexing.ts";

export type Shapes = Readonly<Record<string, readonly number[]>>;
/** The dtypes of tensors, by name. */
export type Dtypes = Readonly<Record<string, string>>;
/** Reads the number in a cell; undefined if it is not loaded. */
export type ReadCell = (tensor: string, cell: number) => number | undefined;

/** The most points that are listed. */
export const MAX_POINTS = 1 << 17;

/** Points of the iteration space, in the order of the loops. */
export interface Points {
  readonly count: number;
  /** Whether there are more points than these. */
  readonly truncated: boolean;
  /** By tensor, the offset of its cell at each point. */
  readonly offsets: ReadonlyMap<string, Float64Array>;
  /** The product of the declared factors at each point, if there are any. */
  readonly weights: Float64Array | undefined;
  /** Cells whose numbers are coordinates of other cells, as indices of a gather are. */
  readonly indexSources: readonly { readonly tensor: string; readonly offsets: Float64Array }[];
}

/** An affine coordinate along one axis: offset + sum(step * loop). */
interface AffineAxis {
  readonly offset: number;
  readonly steps: ReadonlyMap<number, number>;
  readonly size: number;
  /** The distance between neighbours, in elements. */
  readonly stride: number;
  /** The cell whose number is added to the coordinate, if there is one. */
  readonly indirect: Access | undefined;
}

/** The access map of a tensor, or of a table of numbers that the declaration has. */
interface Access {
  readonly tensor: string;
  readonly table: readonly number[] | undefined;
  readonly axes: readonly AffineAxis[];
  /** The offset where all loops are 0, and how much a step of each loop adds. */
  readonly base: number;
  readonly strides: readonly number[];
}

/** A declared loop nest with its constraints prepared. */
export class LoopNest {
  readonly rule: string;
  readonly of: readonly string[];
  /** Tensors that have a cell at each point, with those that hold coordinates. */
  readonly tensors: readonly string[];
  /** Quantized tensors, each with the tensors that hold the ends of its range. */
  readonly codes: Readonly<Record<string, readonly string[]>>;
  /** Whether the result is truncated to an integer. */
  readonly cut: boolean;
  private readonly counts: readonly number[];
  private readonly factors: readonly Access[];
  private readonly sizes: readonly number[];
  private readonly cells: readonly Access[];
  private readonly indirections: readonly Access[];
  private readonly bounds: readonly Constraint[];
  /** The stride of each loop in the number of a point. */
  private readonly pointStrides: readonly number[];
  private readonly groups = new Map<Access, readonly (readonly number[])[]>();

  constructor(
    accessMap: AccessMap,
    private readonly shapes: Shapes,
    private readonly types: Dtypes = {},
  ) {
    this.rule = accessMap.rule;
    this.of = accessMap.of;
    this.codes = accessMap.codes ?? {};
    this.cut = accessMap.cut ?? false;
    this.counts = accessMap.counts ?? [];
    this.sizes = Object.values(accessMap.loops);
    this.pointStrides = stridesOf(this.sizes);
    this.cells = Object.entries(accessMap.cells).map(([tensor, { at, shape }]) =>
      accessOf(accessMap, shapes, tensor, at, shape ?? shapes[tensor] ?? []),
    );
    this.indirections = this.cells.flatMap(({ axes }) => axes.flatMap(({ indirect }) => indirect ?? []));
    const beside = (accessMap.inside ?? []).map(({ at, shape }) =>
      accessOf(accessMap, shapes, "", at, shape ?? []),
    );
    this.bounds = [...this.cells, ...this.indirections, ...beside].flatMap(({ axes }) =>
      axes.filter((axis) => !axis.indirect).map((axis) => ({ axis, low: 0, high: axis.size - 1 })),
    );
    this.factors = (accessMap.factors ?? []).map(({ numbers, at }) => ({
      ...accessOf(accessMap, shapes, "", [at ?? {}], [numbers.length]),
      table: numbers,
    }));
    const accesses = [...this.cells, ...this.indirections].filter((access) => !access.table);
    this.tensors = [...new Set(accesses.map((access) => access.tensor))];
  }

  has(tensor: string): boolean {
    return this.tensors.includes(tensor);
  }

  /** Whether the rule computes with a tensor. */
  uses(tensor: string): boolean {
    const range = this.has(tensor) && Object.values(this.codes).flat().includes(tensor);
    return range || this.of.includes(tensor) || this.indirections.some((access) => access.tensor === tensor);
  }

  /** The step between neighbouring quantized codes; 0 if a tensor is not quantized. */
  codeStep(tensor: string, readCell: ReadCell): number {
    const range = this.rangeOf(tensor, readCell);
    return range ? range.width / (range.count - 1) : 0;
  }

  /** The number that a quantized code represents; other numbers unchanged. */
  dequantized(tensor: string, code: number | undefined, readCell: ReadCell): number | undefined {
    if (code === undefined || !this.codes[tensor]) return code;
    const range = this.rangeOf(tensor, readCell);
    if (!range) return undefined;
    const { low, width, count, lowest } = range;
    if (width === 0) return 0;
    // Sums of products keep 0 exact.
    if (count === 2 ** 32 && 2 * low === -width) return (code * width) / (count - 1);
    const start = low * (count / (width * (count / (count - 1))));
    const whole = Math.trunc(start);
    return ((whole + Math.trunc(2 * (start - whole)) + code - lowest) * width) / (count - 1);
  }

  private rangeOf(tensor: string, readCell: ReadCell) {
    const [low, high] = (this.codes[tensor] ?? []).map((end) => readCell(end, 0));
    const [, signless, bits] = /^(u?)int(\d+)$/.exec(this.types[tensor] ?? "") ?? [];
    if (low === undefined || high === undefined || bits === undefined) return undefined;
    const count = 2 ** Number(bits);
    return { low, width: Math.fround(high - low), count, lowest: signless ? 0 : -count / 2 };
  }

  /** The index that an argmax-like rule gives for a cell of its first tensor. */
  numberOf(offset: number): number {
    const shape = this.shapes[this.of[0] ?? ""] ?? [];
    const cell = unravelIndex(offset, shape);
    return this.counts.reduce((number, axis) => number * (shape[axis] as number) + (cell[axis] as number), 0);
  }

  /** Whether tables give coordinates, so that windows differ in size also away from the borders. */
  get irregular(): boolean {
    return this.indirections.some((access) => access.table);
  }

  /** The number of points of a cell without borders: a full window. */
  windowSize(tensor: string): number {
    const free = this.sizes.filter((_, loop) =>
      this.accesses(tensor).every(({ axes }) => axes.every(({ steps }) => !steps.has(loop))),
    );
    return elementCount(free);
  }

  /** The points at which a tensor's access map gives this cell. */
  points(tensor: string, offset: number, readCell: ReadCell): Points {
    const found = this.accesses(tensor).map((access) => {
      const parts = this.solutions(access, offset);
      const total = combinationCount(parts);
      const count = Math.min(total, this.indirections.length ? MAX_TRIED : MAX_POINTS);
      return { points: this.pointNumbers(parts, count), cut: total > count };
    });
    const cut = found.some((each) => each.cut);
    const [first, ...others] = found.map((each) => each.points);
    const points = others.length
      ? sortedUnique(Float64Array.from([first as Float64Array, ...others].flatMap((each) => [...each])))
      : (first ?? new Float64Array());
    return this.indirections.length
      ? this.indirectPoints(points, cut, tensor, offset, readCell)
      : this.affinePoints(points, cut);
  }

  /** The number of points of a cell. */
  count(tensor: string, offset: number, readCell: ReadCell): number {
    const [access, ...others] = this.accesses(tensor);
    if (!access || others.length || this.indirections.length)
      return this.points(tensor, offset, readCell).count;
    return combinationCount(this.solutions(access, offset));
  }

  /** The cells of another tensor that share a point with this cell, sorted and distinct. */
  relatedCells(tensor: string, offset: number, other: string, readCell: ReadCell): Float64Array {
    const [access, ...others] = this.accesses(tensor);
    const target = this.cells.find((each) => each.tensor === other);
    if (!access || !target || others.length || this.indirections.length) {
      const { offsets, indexSources } = this.points(tensor, offset, readCell);
      const held = indexSources.filter((each) => each.tensor === other).flatMap((each) => [...each.offsets]);
      return sortedUnique(Float64Array.from([...(offsets.get(other) ?? []), ...held]));
    }
    // No axis depends on two groups of loops, so that different solutions of a group are different cells.
    let found: Float64Array = Float64Array.of(target.base);
    for (const part of this.solutions(access, offset)) {
      const each = sortedUnique(weightedSums(part, target.strides, 0));
      found = pairwiseSums(found, each.subarray(0, Math.ceil(MAX_POINTS / found.length)));
    }
    return sortInPlace(found);
  }

  private accesses(tensor: string): Access[] {
    return [...this.cells, ...this.indirections].filter(
      (access) => access.tensor === tensor && !access.table,
    );
  }

  /** The loop values for which an access gives this cell and all cells lie within their tensors, by group of loops. */
  private solutions(access: Access, offset: number): Solutions[] {
    const cell = unravelIndex(
      offset,
      access.axes.map((axis) => axis.size),
    );
    const here = access.axes
      .map((axis, i) => ({ axis, low: cell[i] as number, high: cell[i] as number }))
      .filter(({ axis }) => !axis.indirect);
    const lines = [...this.bounds, ...here];
    const possible = lines.every(
      ({ axis, low, high }) => axis.steps.size > 0 || (low <= axis.offset && axis.offset <= high),
    );
    if (!possible) return [NO_SOLUTIONS];
    return this.independentGroups(access, lines).map((loops) => solve(loops, this.sizes, lines));
  }

  /** Groups of loops that share no constraint, each in the order in which it is enumerated. */
  private independentGroups(access: Access, lines: readonly Constraint[]): readonly (readonly number[])[] {
    const known = this.groups.get(access);
    if (known) return known;
    let groups = this.sizes.map((_, loop) => [loop]);
    for (const { axis } of lines) {
      const joined = groups.filter((group) => group.some((loop) => axis.steps.has(loop)));
      groups = [...groups.filter((group) => !joined.includes(group)), joined.flat()];
    }
    const decided = new Set(
      lines.flatMap(({ axis, low, high }) =>
        axis.steps.size === 1 && low === high && axis.size > 1 ? [...axis.steps.keys()] : [],
      ),
    );
    // Loops that one constraint fixes come first, then small ones: they prune the large ones.
    const size = (loop: number): number => (decided.has(loop) ? 0 : (this.sizes[loop] as number));
    for (const group of groups) group.sort((a, b) => size(a) - size(b) || a - b);
    groups = groups.filter((group) => group.length > 0).sort((a, b) => Math.min(...a) - Math.min(...b));
    this.groups.set(access, groups);
    return groups;
  }

  /** The numbers of the points that combine solutions of all groups, sorted. */
  private pointNumbers(parts: readonly Solutions[], count: number): Float64Array {
    let found: Float64Array = new Float64Array(1);
    for (const part of parts) {
      const each = weightedSums(part, this.pointStrides, 0);
      found = pairwiseSums(found, each.subarray(0, Math.ceil(count / found.length)));
    }
    return sortInPlace(found.subarray(0, count));
  }

  private affinePoints(points: Float64Array, cut: boolean): Points {
    const places = new Map(this.cells.map((access) => [access.tensor, this.offsetsOf(access, points)]));
    return {
      count: points.length,
      truncated: cut,
      offsets: places,
      weights: this.weightsAt(points),
      indexSources: [],
    };
  }

  private weightsAt(points: Float64Array): Float64Array | undefined {
    if (this.factors.length === 0) return undefined;
    const all = this.factors.map((access) => ({ access, places: this.offsetsOf(access, points) }));
    return points.map((_, i) =>
      all.reduce((weight, { access, places }) => weight * (access.table?.[places[i] as number] as number), 1),
    );
  }

  /** The offsets of an access at points, given by their numbers. */
  private offsetsOf(access: Access, points: Float64Array): Float64Array {
    const moving = this.pointStrides.flatMap((stride, loop) =>
      access.strides[loop]
        ? [[stride, this.sizes[loop] as number, access.strides[loop] as number] as const]
        : [],
    );
    return points.map((number) => {
      let place = access.base;
      for (const [stride, size, move] of moving) place += move * (Math.floor(number / stride) % size);
      return place;
    });
  }

  /** Adds the numbers that indirect coordinates read, and drops points that then lie outside or belong to other cells. */
  private indirectPoints(
    points: Float64Array,
    cut: boolean,
    tensor: string,
    offset: number,
    readCell: ReadCell,
  ): Points {
    const plain = new Map(
      [...this.cells, ...this.indirections].map((access) => [access, this.offsetsOf(access, points)]),
    );
    const kept: number[] = [];
    for (let i = 0; i < points.length; i++) {
      const exists = this.cells.every((access) => addIndirect(access, plain, i, readCell));
      const here = this.accesses(tensor).some((access) => plain.get(access)?.[i] === offset);
      if (exists && here) kept.push(i);
    }
    const some = (access: Access): Float64Array => {
      const all = plain.get(access) as Float64Array;
      return Float64Array.from(kept.slice(0, MAX_POINTS), (i) => all[i] as number);
    };
    return {
      count: Math.min(kept.length, MAX_POINTS),
      truncated: cut || kept.length > MAX_POINTS,
      offsets: new Map(this.cells.map((access) => [access.tensor, some(access)])),
      weights: this.weightsAt(Float64Array.from(kept.slice(0, MAX_POINTS), (i) => points[i] as number)),
      indexSources: this.indirections
        .filter((access) => !access.table)
        .map((access) => ({ tensor: access.tensor, offsets: some(access) })),
    };
  }
}

const NO_SOLUTIONS: Solutions = { loops: [], values: [], count: 0 };

/** Adds the indirect coordinates of an access at a point; false if the cell then lies outside. */
function addIndirect(
  access: Access,
  plain: ReadonlyMap<Access, Float64Array>,
  i: number,
  readCell: ReadCell,
): boolean {
  const places = plain.get(access) as Float64Array;
  for (const { indirect: holder, size, stride, offset } of access.axes) {
    if (!holder) continue;
    const at = plain.get(holder)?.[i] as number;
    const number = holder.table ? holder.table[at] : readCell(holder.tensor, at);
    if (number === undefined || !(number + offset >= 0 && number + offset < size)) return false;
    places[i] = (places[i] as number) + number * stride;
  }
  return true;
}

function accessOf(
  accessMap: AccessMap,
  shapes: Shapes,
  tensor: string,
  at: readonly Coordinate[],
  shape: readonly number[],
): Access {
  const loops = Object.keys(accessMap.loops);
  const strides = stridesOf(shape);
  const axes = at.map(({ offset = 0, steps = {}, held_by = "", held_at = [] }, i): AffineAxis => {
    const numbered = Object.entries(steps).map(([loop, step]) => [loops.indexOf(loop), step] as const);
    const table = accessMap.tables?.[held_by];
    const sizes = table ? [table.length] : (shapes[held_by] ?? []);
    return {
      offset,
      steps: new Map(numbered.filter(([, step]) => step !== 0)),
      size: shape[i] as number,
      stride: strides[i] as number,
      indirect: held_by ? accessOf(accessMap, shapes, held_by, held_at, sizes) : undefined,
    };
  });
  const total = (part: (axis: AffineAxis) => number): number =>
    axes.reduce((sum, axis) => sum + axis.stride * part(axis), 0);
  return {
    tensor,
    table: accessMap.tables?.[tensor],
    axes,
    base: total((axis) => axis.offset),
    strides: loops.map((_, loop) => total((axis) => axis.steps.get(loop) ?? 0)),
  };
}
