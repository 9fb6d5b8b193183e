/** How one cell of an output comes from the cells that lead to it: each contribution, and what they come to. */

import type { LoopNest, Points, ReadCell } from "./loop-nest.ts";

export type Role =
  /** Counts as all others do. */
  | "counts"
  /** The one that is taken. */
  | "wins"
  /** As large as the one that is taken, and comes later. */
  | "ties"
  /** Is looked at, and adds nothing. */
  | "loses";

/** The cell of each tensor at one point. */
export interface PointCellMap {
  get(tensor: string): number | undefined;
}

export interface Contribution {
  readonly cells: PointCellMap;
  /** What the rule's tensors hold there; undefined where that is not known. */
  readonly held: readonly (number | undefined)[];
  /** What the rule counts with: what they hold or, in a sum, what codes stand for. */
  readonly factors: readonly (number | undefined)[];
  /** The way's own factor. */
  readonly weight: number | undefined;
  /** By how many it is divided before it is added. */
  readonly divisor: number | undefined;
  /** What it adds, or what is compared. */
  readonly amount: number | undefined;
  /** What all up to this one come to. */
  readonly running: number | undefined;
  readonly part: Role;
}

/** What one way contributes. */
export interface Derivation {
  readonly nest: LoopNest;
  readonly contributions: readonly Contribution[];
  /** By how many the sum is divided. */
  readonly divisor: number | undefined;
  /** Undefined where only the op itself can tell, or values are not known. */
  readonly total: number | undefined;
  /** Whether there are more contributions than these. */
  readonly cut: boolean;
}

/** How an output's cell comes about: one derivation for each way that leads to it, to be added up. */
export function derive(
  nests: readonly LoopNest[],
  output: string,
  place: number,
  holding: ReadCell,
): readonly Derivation[] {
  const leading = nests.filter((nest) => nest.has(output));
  const all = leading.map((nest) => {
    const points = nest.points(output, place, holding);
    const asked: RuleInput = { nest, output, points, holding };
    const derived = (RULES[nest.rule] ?? opaque)(asked);
    const { total } = derived;
    const whole = total === undefined || !nest.cut ? total : truncated(total);
    return { nest, divisor: undefined, cut: points.cut, ...derived, total: whole };
  });
  const some = all.filter((each) => each.contributions.length > 0);
  return some.length ? some : all.slice(0, 1);
}

/** Toward zero; a sum that is whole but for rounding stays whole. */
function truncated(total: number): number {
  return Math.abs(total - Math.round(total)) < 1e-9 ? Math.round(total) : Math.trunc(total);
}

/** What the derivations come to together. */
export function totalOf(derivations: readonly Derivation[]): number | undefined {
  let total = 0;
  for (const { total: each, cut } of derivations) {
    if (each === undefined || cut) return undefined;
    total = derivations.length === 1 ? each : total + each;
  }
  return total;
}

/** Whether all that a derivation has is subtracted. */
export function isSubtracted({ contributions }: Derivation): boolean {
  return contributions.length > 0 && contributions.every(({ weight }) => weight === -1);
}

/** How far rounding may take a sum from what the op gives: in its type, or to the number of a code. */
export function tolerance(derivations: readonly Derivation[], dtype: string, step = 0): number {
  const each = step ? (PRECISION.float32 as number) : (PRECISION[dtype] ?? 0);
  let [size, count] = [0, 0];
  for (const { contributions, divisor, nest } of derivations) {
    const most = Math.max(0, ...contributions.map(({ amount }) => Math.abs(amount ?? 0)));
    const summed = contributions.reduce((sum, { amount }) => sum + Math.abs(amount ?? 0), 0);
    size +=
      (nest.rule === "product" ? Math.abs(contributions.at(-1)?.running ?? 0) : Math.max(most, summed)) /
      (divisor ?? 1);
    count += contributions.length;
  }
  return each * size * (4 + Math.sqrt(count)) + step / 2;
}

/** Whether a total is the shown number, but for rounding. */
export function agrees(total: number, shown: number, within: number): boolean {
  return Object.is(total, shown) || total === shown || Math.abs(total - shown) <= within;
}

/** The distance from 1 to the next number of a type. Whole numbers are exact. */
const PRECISION: Readonly<Record<string, number>> = {
  float64: 2 ** -52,
  float32: 2 ** -23,
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
  complex64: 2 ** -23,
  complex128: 2 ** -52,
};

interface RuleInput {
  readonly nest: LoopNest;
  readonly output: string;
  readonly points: Points;
  readonly holding: ReadCell;
}

type RuleResult = Pick<Derivation, "contributions" | "total"> & Partial<Pick<Derivation, "divisor">>;
type Rule = (asked: RuleInput) => RuleResult;

/** Looked up when asked: there may be thousands of points, and most are never looked at. */
class PointCells implements PointCellMap {
  constructor(
    private readonly points: Points,
    private readonly at: number,
  ) {}

  get(tensor: string): number | undefined {
    return this.points.places.get(tensor)?.[this.at];
  }
}

function valuesAt({ nest, points, holding }: RuleInput, i: number): (number | undefined)[] {
  return nest.of.map((tensor) => holding(tensor, points.places.get(tensor)?.[i] as number));
}

/** What is counted with: numbers or, in a sum, what codes stand for. */
function ruleFactors(
  { nest, holding }: RuleInput,
  held: readonly (number | undefined)[],
): readonly (number | undefined)[] {
  if (nest.rule !== "sum" || nest.of.every((tensor) => !nest.codes[tensor])) return held;
  return held.map((code, at) => nest.dequantized(nest.of[at] ?? "", code, holding));
}

/** Contributions, one for each point, that are put together one after the other. */
function reduced(
  asked: RuleInput,
  start: number,
  amountOf: (
    factors: readonly (number | undefined)[],
    i: number,
  ) => { amount: number | undefined; part?: Role; divisor?: number },
  join: (before: number, amount: number) => number = (before, amount) => before + amount,
): { contributions: Contribution[]; total: number | undefined } {
  let running: number | undefined = start;
  const contributions = Array.from({ length: asked.points.count }, (_, i) => {
    const held = valuesAt(asked, i);
    const factors = ruleFactors(asked, held);
    const { amount, part = "counts", divisor } = amountOf(factors, i);
    running = running === undefined || amount === undefined ? undefined : join(running, amount);
    const cells = new PointCells(asked.points, i);
    return { cells, held, factors, weight: asked.points.weights?.[i], divisor, amount, running, part };
  });
  return { contributions, total: running };
}

function product(factors: readonly (number | undefined)[], weight = 1): number | undefined {
  let all = weight;
  for (const each of factors) {
    if (each === undefined) return undefined;
    all *= each;
  }
  return all;
}

function sum(factors: readonly (number | undefined)[]): number | undefined {
  return factors.reduce((all, each) => (all === undefined || each === undefined ? undefined : all + each), 0);
}

/** The number of the first that is NaN, or else largest (smallest with sign -1); undefined if there is none. */
function bestOf(amounts: readonly (number | undefined)[], sign: 1 | -1): number | undefined {
  let best: number | undefined;
  for (const [i, amount] of amounts.entries()) {
    if (amount === undefined) return undefined;
    const top = best === undefined ? undefined : (amounts[best] as number);
    if (top === undefined || (!Number.isNaN(top) && (Number.isNaN(amount) || sign * amount > sign * top)))
      best = i;
  }
  return best;
}

function same(a: number | undefined, b: number | undefined): boolean {
  return a === b || (a !== undefined && Number.isNaN(a) && Number.isNaN(b));
}

function roleOf(amounts: readonly (number | undefined)[], best: number | undefined, i: number): Role {
  if (best === undefined) return "counts";
  if (i === best) return "wins";
  return same(amounts[i], amounts[best]) ? "ties" : "loses";
}

/** The largest or smallest; `nan` is what NaN counts as. */
function extreme(sign: 1 | -1, nan = Number.NaN): Rule {
  return (asked) => {
    const amounts = Array.from({ length: asked.points.count }, (_, i) => {
      const amount = sum(valuesAt(asked, i));
      return amount !== undefined && Number.isNaN(amount) ? nan : amount;
    });
    const best = bestOf(amounts, sign);
    const better = (before: number, amount: number): number =>
      bestOf([before, amount], sign) === 0 ? before : amount;
    return reduced(
      asked,
      -sign * Number.POSITIVE_INFINITY,
      (_, i) => ({ amount: amounts[i], part: roleOf(amounts, best, i) }),
      better,
    );
  };
}

/** Where the one that is taken stands, in place of what it holds. */
function argOf(rule: Rule): Rule {
  return (asked) => {
    const { contributions } = rule(asked);
    if (contributions.length === 0) return { contributions, total: 0 };
    const winner = contributions.find(({ part }) => part === "wins");
    const place = winner?.cells.get(asked.nest.of[0] ?? "");
    return { contributions, total: place === undefined ? undefined : asked.nest.numberOf(place) };
  };
}

/** What is compared in the window of a cell of what flows back, by the cell that it belongs to, in their order. */
export function windowValues(
  nest: LoopNest,
  given: string,
  place: number,
  holding: ReadCell,
): Map<number, number | undefined> {
  const points = nest.points(given, place, holding);
  const [, own = "", ...others] = nest.of;
  // What a number is held against is no part of it.
  const compared = nest.rule === "close" ? [own] : [own, ...others];
  const amounts = new Map<number, number | undefined>();
  const asked = { nest, output: "", points, holding };
  for (let i = 0; i < points.count; i++) {
    const at = points.places.get(own)?.[i] as number;
    if (!amounts.has(at)) amounts.set(at, sum(compared.map((tensor) => readTensor(asked, tensor, i))));
  }
  return amounts;
}

/** The cells that win the window of what flows back, and those that tie with them. */
export function windowWinners(
  nest: LoopNest,
  given: string,
  place: number,
  holding: ReadCell,
): { wins: number[]; ties: number[] } {
  const amounts = windowValues(nest, given, place, holding);
  const [cells, values] = [[...amounts.keys()], [...amounts.values()]];
  const best = bestOf(values, 1);
  const being = (part: Role): number[] => cells.filter((_, i) => roleOf(values, best, i) === part);
  return { wins: being("wins"), ties: being("ties") };
}

/** Each window that reads the output's cell, and whether that cell won it. */
function winners(asked: RuleInput): RuleResult {
  const { nest, points, output } = asked;
  const [given, own, ...others] = nest.of as [string, string, ...string[]];
  const windows = new Map<number, number[]>();
  for (let i = 0; i < points.count; i++) {
    const window = points.places.get(given)?.[i] as number;
    windows.get(window)?.push(i) ?? windows.set(window, [i]);
  }
  let running: number | undefined = 0;
  const contributions = [...windows.values()].map((window): Contribution => {
    const amounts = window.map((i) => sum([own, ...others].map((tensor) => readTensor(asked, tensor, i))));
    const best = bestOf(amounts, 1);
    const isOwn = (i: number): boolean => points.places.get(own)?.[i] === points.places.get(output)?.[i];
    const mine = window.findIndex(isOwn);
    const part = best !== undefined && isOwn(window[best] as number) ? "wins" : roleOf(amounts, best, mine);
    const winner = window[best ?? 0] as number;
    const value = readTensor(asked, given, winner);
    const amount = best === undefined ? undefined : part === "wins" ? value : 0;
    running = running === undefined || amount === undefined ? undefined : running + amount;
    const held = nest.of.map((tensor) => readTensor(asked, tensor, winner));
    const none = { weight: undefined, divisor: undefined };
    return { cells: new PointCells(points, winner), held, factors: held, ...none, amount, running, part };
  });
  return { contributions, total: running };
}

function readTensor({ points, holding }: RuleInput, tensor: string, i: number): number | undefined {
  return holding(tensor, points.places.get(tensor)?.[i] as number);
}

function winnersValue(asked: RuleInput): RuleResult {
  const amounts = Array.from({ length: asked.points.count }, (_, i) => sum(valuesAt(asked, i).slice(1)));
  const best = bestOf(amounts, 1);
  return reduced(asked, 0, ([given], i) => {
    const part = roleOf(amounts, best, i);
    return { amount: best === undefined ? undefined : part === "wins" ? given : 0, part };
  });
}

/** How near two numbers must be to be taken for the same. */
const CLOSE = 1e-5;

function close(asked: RuleInput): RuleResult {
  return reduced(asked, 0, ([given, one, other]) => {
    if (given === undefined || one === undefined || other === undefined) return { amount: undefined };
    const near = one === other || Math.abs(one - other) < CLOSE;
    return near ? { amount: given, part: "wins" } : { amount: 0, part: "loses" };
  });
}

function opaque(asked: RuleInput): RuleResult {
  return {
    ...reduced(asked, 0, (factors) => ({ amount: factors.length === 1 ? factors[0] : undefined })),
    total: undefined,
  };
}

const RULES: Readonly<Record<string, Rule>> = {
  sum: (asked) =>
    reduced(asked, 0, (factors, i) => ({ amount: product(factors, asked.points.weights?.[i]) })),
  added: (asked) => reduced(asked, 0, (factors) => ({ amount: sum(factors) })),
  mean: (asked) => {
    const { contributions, total } = reduced(asked, 0, (factors) => ({ amount: product(factors) }));
    const divisor = Math.max(1, contributions.length);
    return { contributions, divisor, total: total === undefined ? undefined : total / divisor };
  },
  shares: (asked) =>
    reduced(asked, 0, ([given], i) => {
      const tensor = asked.nest.of[0] as string;
      const divisor = asked.nest.count(tensor, asked.points.places.get(tensor)?.[i] as number, asked.holding);
      return { amount: given === undefined ? undefined : given / divisor, divisor };
    }),
  product: (asked) =>
    reduced(
      asked,
      1,
      ([given]) => ({ amount: given }),
      (before, amount) => before * amount,
    ),
  max: extreme(1),
  min: extreme(-1),
  argmax: argOf(extreme(1)),
  "largest at": argOf(extreme(1, Number.NEGATIVE_INFINITY)),
  "smallest at": argOf(extreme(-1, Number.POSITIVE_INFINITY)),
  winners,
  "winner's": winnersValue,
  close,
  copy: (asked) => {
    const { contributions } = reduced(
      asked,
      0,
      ([given]) => ({ amount: given }),
      (_, amount) => amount,
    );
    return { contributions, total: contributions.length ? contributions[0]?.amount : 0 };
  },
  apply: opaque,
};
