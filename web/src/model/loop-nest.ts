/**
 * Which cells of an op's tensors belong together, from its own declaration: what `backblocks.ops._cells` says, in the
 * browser.
 *
 * A way says which cell of each tensor belongs to a point of its loops: along each axis an offset and steps times
 * loops. To go from one cell to all others is to solve these lines. Loops that share no line do not touch each other,
 * so that the points are all combinations of what a few loops at a time can be: along each axis of a convolution, the
 * window's place and its tap. The whole space of the loops is never walked.
 *
 * A cell is its place in row-major order, which stays the same however a tensor is reshaped.
 */

import type { Coordinate, Way } from "../net/generated.ts";
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
/** The types of tensors, by name. */
export type Dtypes = Readonly<Record<string, string>>;
/** What a tensor holds at a cell; undefined where that is not known. */
export type ReadCell = (tensor: string, cell: number) => number | undefined;

/** More points than this are not told one by one. */
export const MAX_POINTS = 1 << 17;

/** Points of a way, in the order of its loops. */
export interface Points {
  readonly count: number;
  /** Whether there are more of them. */
  readonly cut: boolean;
  /** By tensor, the place of its cell at each point. */
  readonly places: ReadonlyMap<string, Float64Array>;
  /** The product of the way's own factors at each point, where it has some. */
  readonly weights: Float64Array | undefined;
  /** The cells whose numbers are coordinates of others. */
  readonly holders: readonly { readonly tensor: string; readonly places: Float64Array }[];
}

/** offset + sum of steps * loops, along one axis. */
interface AffineAxis {
  readonly offset: number;
  readonly steps: ReadonlyMap<number, number>;
  readonly size: number;
  /** How far apart two neighbours lie in row-major order. */
  readonly stride: number;
  /** The seat that holds what is added, if there is one. */
  readonly holder: Access | undefined;
}

/** A cell that moves with the loops: of a tensor, or of a table, whose numbers the way itself has. */
interface Access {
  readonly tensor: string;
  readonly table: readonly number[] | undefined;
  readonly axes: readonly AffineAxis[];
  /** Its place where all loops are 0, and how far a step of each loop moves it. */
  readonly start: number;
  readonly moves: readonly number[];
}

/** A way made ready to be asked. */
export class LoopNest {
  readonly rule: string;
  readonly of: readonly string[];
  /** Tensors that have a cell at each point, those that hold coordinates too. */
  readonly tensors: readonly string[];
  /** Tensors that hold codes of numbers, with those of the ends of their range. */
  readonly codes: Readonly<Record<string, readonly string[]>>;
  /** Whether what it comes to is cut to a whole number. */
  readonly cut: boolean;
  private readonly counts: readonly number[];
  private readonly factors: readonly Access[];
  private readonly sizes: readonly number[];
  private readonly cells: readonly Access[];
  private readonly holders: readonly Access[];
  private readonly bounds: readonly Constraint[];
  /** How far each loop moves the number of a point in their order. */
  private readonly pointStrides: readonly number[];
  private readonly groups = new Map<Access, readonly (readonly number[])[]>();

  constructor(
    way: Way,
    private readonly shapes: Shapes,
    private readonly types: Dtypes = {},
  ) {
    this.rule = way.rule;
    this.of = way.of;
    this.codes = way.codes ?? {};
    this.cut = way.cut ?? false;
    this.counts = way.counts ?? [];
    this.sizes = Object.values(way.loops);
    this.pointStrides = stridesOf(this.sizes);
    this.cells = Object.entries(way.cells).map(([tensor, { at, shape }]) =>
      accessOf(way, shapes, tensor, at, shape ?? shapes[tensor] ?? []),
    );
    this.holders = this.cells.flatMap(({ axes }) => axes.flatMap(({ holder }) => holder ?? []));
    const beside = (way.inside ?? []).map(({ at, shape }) => accessOf(way, shapes, "", at, shape ?? []));
    this.bounds = [...this.cells, ...this.holders, ...beside].flatMap(({ axes }) =>
      axes.filter((axis) => !axis.holder).map((axis) => ({ axis, low: 0, high: axis.size - 1 })),
    );
    this.factors = (way.factors ?? []).map(({ numbers, at }) => ({
      ...accessOf(way, shapes, "", [at ?? {}], [numbers.length]),
      table: numbers,
    }));
    const seats = [...this.cells, ...this.holders].filter((seat) => !seat.table);
    this.tensors = [...new Set(seats.map((seat) => seat.tensor))];
  }

  has(tensor: string): boolean {
    return this.tensors.includes(tensor);
  }

  /** Whether something is computed with a tensor. */
  uses(tensor: string): boolean {
    const range = this.has(tensor) && Object.values(this.codes).flat().includes(tensor);
    return range || this.of.includes(tensor) || this.holders.some((seat) => seat.tensor === tensor);
  }

  /** How far apart the numbers of two neighbouring codes are; 0 where a tensor holds no codes. */
  codeStep(tensor: string, holding: ReadCell): number {
    const range = this.rangeOf(tensor, holding);
    return range ? range.width / (range.count - 1) : 0;
  }

  /** What a number of a tensor stands for: itself, or the number of which it is the code. */
  dequantized(tensor: string, code: number | undefined, holding: ReadCell): number | undefined {
    if (code === undefined || !this.codes[tensor]) return code;
    const range = this.rangeOf(tensor, holding);
    if (!range) return undefined;
    const { low, width, count, lowest } = range;
    if (width === 0) return 0;
    // As sums have it: 0 is 0.
    if (count === 2 ** 32 && 2 * low === -width) return (code * width) / (count - 1);
    const start = low * (count / (width * (count / (count - 1))));
    const whole = Math.trunc(start);
    return ((whole + Math.trunc(2 * (start - whole)) + code - lowest) * width) / (count - 1);
  }

  private rangeOf(tensor: string, holding: ReadCell) {
    const [low, high] = (this.codes[tensor] ?? []).map((end) => holding(end, 0));
    const [, signless, bits] = /^(u?)int(\d+)$/.exec(this.types[tensor] ?? "") ?? [];
    if (low === undefined || high === undefined || bits === undefined) return undefined;
    const count = 2 ** Number(bits);
    return { low, width: Math.fround(high - low), count, lowest: signless ? 0 : -count / 2 };
  }

  /** The number that stands for a place of the rule's first tensor, where places are the result. */
  numberOf(place: number): number {
    const shape = this.shapes[this.of[0] ?? ""] ?? [];
    const cell = unravelIndex(place, shape);
    return this.counts.reduce((number, axis) => number * (shape[axis] as number) + (cell[axis] as number), 0);
  }

  /** Whether tables say where loops lead, so that windows differ in size for other reasons than an end. */
  get irregular(): boolean {
    return this.holders.some((seat) => seat.table);
  }

  /** How many points a cell of a tensor would belong to if all tensors had no end: a whole window. */
  windowSize(tensor: string): number {
    const free = this.sizes.filter((_, loop) =>
      this.accesses(tensor).every(({ axes }) => axes.every(({ steps }) => !steps.has(loop))),
    );
    return elementCount(free);
  }

  /** The points that a cell belongs to. */
  points(tensor: string, place: number, holding: ReadCell): Points {
    const found = this.accesses(tensor).map((seat) => {
      const parts = this.solutions(seat, place);
      const wanted = combinationCount(parts);
      const count = Math.min(wanted, this.holders.length ? MAX_TRIED : MAX_POINTS);
      return { turns: this.pointNumbers(parts, count), cut: wanted > count };
    });
    const cut = found.some((each) => each.cut);
    const [first, ...others] = found.map((each) => each.turns);
    const turns = others.length
      ? sortedUnique(Float64Array.from([first as Float64Array, ...others].flatMap((each) => [...each])))
      : (first ?? new Float64Array());
    return this.holders.length
      ? this.indirectPoints(turns, cut, tensor, place, holding)
      : this.affinePoints(turns, cut);
  }

  /** How many points a cell belongs to. */
  count(tensor: string, place: number, holding: ReadCell): number {
    const [seat, ...others] = this.accesses(tensor);
    if (!seat || others.length || this.holders.length) return this.points(tensor, place, holding).count;
    return combinationCount(this.solutions(seat, place));
  }

  /** The cells of another tensor that belong to a cell, each once and in order. */
  relatedCells(tensor: string, place: number, other: string, holding: ReadCell): Float64Array {
    const [seat, ...others] = this.accesses(tensor);
    const target = this.cells.find((each) => each.tensor === other);
    if (!seat || !target || others.length || this.holders.length) {
      const { places, holders } = this.points(tensor, place, holding);
      const held = holders.filter((each) => each.tensor === other).flatMap((each) => [...each.places]);
      return sortedUnique(Float64Array.from([...(places.get(other) ?? []), ...held]));
    }
    // No axis depends on two parts, so that what differs in one part is another cell.
    let found: Float64Array = Float64Array.of(target.start);
    for (const part of this.solutions(seat, place)) {
      const each = sortedUnique(weightedSums(part, target.moves, 0));
      found = pairwiseSums(found, each.subarray(0, Math.ceil(MAX_POINTS / found.length)));
    }
    return sortInPlace(found);
  }

  private accesses(tensor: string): Access[] {
    return [...this.cells, ...this.holders].filter((seat) => seat.tensor === tensor && !seat.table);
  }

  /** What the loops can be so that a seat is at a place, and all cells lie inside of their tensors. */
  private solutions(seat: Access, place: number): Solutions[] {
    const cell = unravelIndex(
      place,
      seat.axes.map((axis) => axis.size),
    );
    const here = seat.axes
      .map((axis, i) => ({ axis, low: cell[i] as number, high: cell[i] as number }))
      .filter(({ axis }) => !axis.holder);
    const lines = [...this.bounds, ...here];
    const possible = lines.every(
      ({ axis, low, high }) => axis.steps.size > 0 || (low <= axis.offset && axis.offset <= high),
    );
    if (!possible) return [NO_SOLUTIONS];
    return this.independentGroups(seat, lines).map((loops) => solve(loops, this.sizes, lines));
  }

  /** The loops in groups that share no line, each group in the order in which it is walked. */
  private independentGroups(seat: Access, lines: readonly Constraint[]): readonly (readonly number[])[] {
    const known = this.groups.get(seat);
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
    // First what one line decides, then the small ones: large ones follow from them.
    const size = (loop: number): number => (decided.has(loop) ? 0 : (this.sizes[loop] as number));
    for (const group of groups) group.sort((a, b) => size(a) - size(b) || a - b);
    groups = groups.filter((group) => group.length > 0).sort((a, b) => Math.min(...a) - Math.min(...b));
    this.groups.set(seat, groups);
    return groups;
  }

  /** The numbers of the points that the parts give together, in order. */
  private pointNumbers(parts: readonly Solutions[], count: number): Float64Array {
    let found: Float64Array = new Float64Array(1);
    for (const part of parts) {
      const each = weightedSums(part, this.pointStrides, 0);
      found = pairwiseSums(found, each.subarray(0, Math.ceil(count / found.length)));
    }
    return sortInPlace(found.subarray(0, count));
  }

  private affinePoints(turns: Float64Array, cut: boolean): Points {
    const places = new Map(this.cells.map((seat) => [seat.tensor, this.offsetsOf(seat, turns)]));
    return { count: turns.length, cut, places, weights: this.weightsAt(turns), holders: [] };
  }

  private weightsAt(turns: Float64Array): Float64Array | undefined {
    if (this.factors.length === 0) return undefined;
    const all = this.factors.map((seat) => ({ seat, places: this.offsetsOf(seat, turns) }));
    return turns.map((_, i) =>
      all.reduce((weight, { seat, places }) => weight * (seat.table?.[places[i] as number] as number), 1),
    );
  }

  /** Where a seat is at points, which are given by their numbers. */
  private offsetsOf(seat: Access, turns: Float64Array): Float64Array {
    const moving = this.pointStrides.flatMap((turn, loop) =>
      seat.moves[loop] ? [[turn, this.sizes[loop] as number, seat.moves[loop] as number] as const] : [],
    );
    return turns.map((number) => {
      let place = seat.start;
      for (const [turn, size, move] of moving) place += move * (Math.floor(number / turn) % size);
      return place;
    });
  }

  /** Adds what tensors hold to coordinates, and leaves out points that are none then or belong to other cells. */
  private indirectPoints(
    turns: Float64Array,
    cut: boolean,
    tensor: string,
    place: number,
    holding: ReadCell,
  ): Points {
    const plain = new Map(
      [...this.cells, ...this.holders].map((seat) => [seat, this.offsetsOf(seat, turns)]),
    );
    const kept: number[] = [];
    for (let i = 0; i < turns.length; i++) {
      const exists = this.cells.every((seat) => addIndirect(seat, plain, i, holding));
      const here = this.accesses(tensor).some((seat) => plain.get(seat)?.[i] === place);
      if (exists && here) kept.push(i);
    }
    const some = (seat: Access): Float64Array => {
      const all = plain.get(seat) as Float64Array;
      return Float64Array.from(kept.slice(0, MAX_POINTS), (i) => all[i] as number);
    };
    return {
      count: Math.min(kept.length, MAX_POINTS),
      cut: cut || kept.length > MAX_POINTS,
      places: new Map(this.cells.map((seat) => [seat.tensor, some(seat)])),
      weights: this.weightsAt(Float64Array.from(kept.slice(0, MAX_POINTS), (i) => turns[i] as number)),
      holders: this.holders
        .filter((seat) => !seat.table)
        .map((seat) => ({ tensor: seat.tensor, places: some(seat) })),
    };
  }
}

const NO_SOLUTIONS: Solutions = { loops: [], values: [], count: 0 };

/** Moves a seat at a point by what its coordinates are held by; says whether its cell exists then. */
function addIndirect(
  seat: Access,
  plain: ReadonlyMap<Access, Float64Array>,
  i: number,
  holding: ReadCell,
): boolean {
  const places = plain.get(seat) as Float64Array;
  for (const { holder, size, stride, offset } of seat.axes) {
    if (!holder) continue;
    const at = plain.get(holder)?.[i] as number;
    const number = holder.table ? holder.table[at] : holding(holder.tensor, at);
    if (number === undefined || !(number + offset >= 0 && number + offset < size)) return false;
    places[i] = (places[i] as number) + number * stride;
  }
  return true;
}

function accessOf(
  way: Way,
  shapes: Shapes,
  tensor: string,
  at: readonly Coordinate[],
  shape: readonly number[],
): Access {
  const loops = Object.keys(way.loops);
  const strides = stridesOf(shape);
  const axes = at.map(({ offset = 0, steps = {}, held_by = "", held_at = [] }, i): AffineAxis => {
    const numbered = Object.entries(steps).map(([loop, step]) => [loops.indexOf(loop), step] as const);
    const table = way.tables?.[held_by];
    const sizes = table ? [table.length] : (shapes[held_by] ?? []);
    return {
      offset,
      steps: new Map(numbered.filter(([, step]) => step !== 0)),
      size: shape[i] as number,
      stride: strides[i] as number,
      holder: held_by ? accessOf(way, shapes, held_by, held_at, sizes) : undefined,
    };
  });
  const total = (part: (axis: AffineAxis) => number): number =>
    axes.reduce((sum, axis) => sum + axis.stride * part(axis), 0);
  return {
    tensor,
    table: way.tables?.[tensor],
    axes,
    start: total((axis) => axis.offset),
    moves: loops.map((_, loop) => total((axis) => axis.steps.get(loop) ?? 0)),
  };
}
