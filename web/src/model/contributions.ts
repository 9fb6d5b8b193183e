/** Derivations of Explain: the contributions of input cells to one output cell, and their total. */

import type { LoopNest, Points, ReadCell } from "./loop-nest.ts";

export type Role =
  /** Contributes as all others do. */
  | "counts"
  /** The selected maximum or minimum. */
  | "wins"
  /** Equal to the selected one, and later in order. */
  | "ties"
  /** Compared, and contributes nothing. */
  | "loses";

/** The cell of each tensor at one point of the loops. */
export interface PointCellMap {
  get(tensor: string): number | undefined;
}

export interface Contribution {
  readonly cells: PointCellMap;
  /** The numbers of the rule's tensors; undefined where they are not loaded. */
  readonly values: readonly (number | undefined)[];
  /** The numbers that the rule uses: the values or, in a sum, dequantized ones. */
  readonly factors: readonly (number | undefined)[];
  /** The factor of the declaration, if it has one. */
  readonly weight: number | undefined;
  /** The divisor of this contribution, if it has its own. */
  readonly divisor: number | undefined;
  /** The summand, or the number that is compared. */
  readonly amount: number | undefined;
  /** The total of the contributions up to this one. */
  readonly running: number | undefined;
  readonly role: Role;
}

/** The contributions of one loop nest. */
export interface Derivation {
  readonly nest: LoopNest;
  readonly contributions: readonly Contribution[];
  /** The divisor of the sum, if it is a mean. */
  readonly divisor: number | undefined;
  /** Undefined if only the op can compute it, or values are not loaded. */
  readonly total: number | undefined;
  /** Whether there are more contributions than are listed. */
  readonly truncated: boolean;
}

/** The derivations of an output cell, one for each loop nest; the cell is their sum. */
export function derive(
  nests: readonly LoopNest[],
  output: string,
  offset: number,
  readCell: ReadCell,
): readonly Derivation[] {
  const leading = nests.filter((nest) => nest.has(output));
  const all = leading.map((nest) => {
    const points = nest.points(output, offset, readCell);
    const input: RuleInput = { nest, output, points, readCell };
    const derived = (RULES[nest.rule] ?? opaque)(input);
    const { total } = derived;
    const whole = total === undefined || !nest.cut ? total : truncated(total);
    return { nest, divisor: undefined, truncated: points.truncated, ...derived, total: whole };
  });
  const some = all.filter((each) => each.contributions.length > 0);
  return some.length ? some : all.slice(0, 1);
}

/** Truncates toward zero; a sum that is an integer but for rounding is kept. */
function truncated(total: number): number {
  return Math.abs(total - Math.round(total)) < 1e-9 ? Math.round(total) : Math.trunc(total);
}

/** The sum of all derivations; undefined if one is unknown or truncated. */
export function totalOf(derivations: readonly Derivation[]): number | undefined {
  let total = 0;
  for (const { total: each, truncated: cut } of derivations) {
    if (each === undefined || cut) return undefined;
    total = derivations.length === 1 ? each : total + each;
  }
  return total;
}

/** Whether all contributions have the factor -1. */
export function isSubtracted({ contributions }: Derivation): boolean {
  return contributions.length > 0 && contributions.every(({ weight }) => weight === -1);
}

/** The rounding error that is expected between the total and the op's own result. */
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

/** Whether a total equals the shown number within a tolerance. */
export function agrees(total: number, shown: number, within: number): boolean {
  return Object.is(total, shown) || total === shown || Math.abs(total - shown) <= within;
}

/** Machine epsilon by dtype. Integers are exact. */
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
  readonly readCell: ReadCell;
}

type RuleResult = Pick<Derivation, "contributions" | "total"> & Partial<Pick<Derivation, "divisor">>;
type Rule = (input: RuleInput) => RuleResult;

/** A lazy lookup: there may be thousands of points, most of which are never shown. */
class PointCells implements PointCellMap {
  constructor(
    private readonly points: Points,
    private readonly at: number,
  ) {}

  get(tensor: string): number | undefined {
    return this.points.offsets.get(tensor)?.[this.at];
  }
}

function valuesAt({ nest, points, readCell }: RuleInput, i: number): (number | undefined)[] {
  return nest.of.map((tensor) => readCell(tensor, points.offsets.get(tensor)?.[i] as number));
}

/** The factors of a point: its values or, in a sum, dequantized ones. */
function ruleFactors(
  { nest, readCell }: RuleInput,
  values: readonly (number | undefined)[],
): readonly (number | undefined)[] {
  if (nest.rule !== "sum" || nest.of.every((tensor) => !nest.codes[tensor])) return values;
  return values.map((code, at) => nest.dequantized(nest.of[at] ?? "", code, readCell));
}

/** One contribution for each point, reduced in order. */
function reduced(
  input: RuleInput,
  start: number,
  amountOf: (
    factors: readonly (number | undefined)[],
    i: number,
  ) => { amount: number | undefined; role?: Role; divisor?: number },
  join: (before: number, amount: number) => number = (before, amount) => before + amount,
): { contributions: Contribution[]; total: number | undefined } {
  let running: number | undefined = start;
  const contributions = Array.from({ length: input.points.count }, (_, i) => {
    const values = valuesAt(input, i);
    const factors = ruleFactors(input, values);
    const { amount, role = "counts", divisor } = amountOf(factors, i);
    running = running === undefined || amount === undefined ? undefined : join(running, amount);
    const cells = new PointCells(input.points, i);
    return { cells, values, factors, weight: input.points.weights?.[i], divisor, amount, running, role };
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

/** The index of the first NaN, or else of the maximum (minimum with sign -1); undefined if there is none. */
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

/** A maximum or minimum; `nan` is what NaN compares as. */
function extreme(sign: 1 | -1, nan = Number.NaN): Rule {
  return (input) => {
    const amounts = Array.from({ length: input.points.count }, (_, i) => {
      const amount = sum(valuesAt(input, i));
      return amount !== undefined && Number.isNaN(amount) ? nan : amount;
    });
    const best = bestOf(amounts, sign);
    const better = (before: number, amount: number): number =>
      bestOf([before, amount], sign) === 0 ? before : amount;
    return reduced(
      input,
      -sign * Number.POSITIVE_INFINITY,
      (_, i) => ({ amount: amounts[i], role: roleOf(amounts, best, i) }),
      better,
    );
  };
}

/** The argmax or argmin of a maximum or minimum rule. */
function argOf(rule: Rule): Rule {
  return (input) => {
    const { contributions } = rule(input);
    if (contributions.length === 0) return { contributions, total: 0 };
    const winner = contributions.find(({ role }) => role === "wins");
    const offset = winner?.cells.get(input.nest.of[0] ?? "");
    return { contributions, total: offset === undefined ? undefined : input.nest.numberOf(offset) };
  };
}

/** The compared values in the window of an incoming gradient cell, by input cell, in order. */
export function windowValues(
  nest: LoopNest,
  given: string,
  offset: number,
  readCell: ReadCell,
): Map<number, number | undefined> {
  const points = nest.points(given, offset, readCell);
  const [, own = "", ...others] = nest.of;
  // The reference that values are compared with is not part of the value.
  const compared = nest.rule === "close" ? [own] : [own, ...others];
  const amounts = new Map<number, number | undefined>();
  const input = { nest, output: "", points, readCell };
  for (let i = 0; i < points.count; i++) {
    const at = points.offsets.get(own)?.[i] as number;
    if (!amounts.has(at)) amounts.set(at, sum(compared.map((tensor) => readTensor(input, tensor, i))));
  }
  return amounts;
}

/** The input cells that win the window of an incoming gradient cell, and those that tie. */
export function windowWinners(
  nest: LoopNest,
  given: string,
  offset: number,
  readCell: ReadCell,
): { wins: number[]; ties: number[] } {
  const amounts = windowValues(nest, given, offset, readCell);
  const [cells, values] = [[...amounts.keys()], [...amounts.values()]];
  const best = bestOf(values, 1);
  const being = (role: Role): number[] => cells.filter((_, i) => roleOf(values, best, i) === role);
  return { wins: being("wins"), ties: being("ties") };
}

/** The gradient of max pooling: each window that reads the cell, and whether the cell won it. */
function winners(input: RuleInput): RuleResult {
  const { nest, points, output } = input;
  const [given, own, ...others] = nest.of as [string, string, ...string[]];
  const windows = new Map<number, number[]>();
  for (let i = 0; i < points.count; i++) {
    const window = points.offsets.get(given)?.[i] as number;
    windows.get(window)?.push(i) ?? windows.set(window, [i]);
  }
  let running: number | undefined = 0;
  const contributions = [...windows.values()].map((window): Contribution => {
    const amounts = window.map((i) => sum([own, ...others].map((tensor) => readTensor(input, tensor, i))));
    const best = bestOf(amounts, 1);
    const isOwn = (i: number): boolean => points.offsets.get(own)?.[i] === points.offsets.get(output)?.[i];
    const mine = window.findIndex(isOwn);
    const role = best !== undefined && isOwn(window[best] as number) ? "wins" : roleOf(amounts, best, mine);
    const winner = window[best ?? 0] as number;
    const value = readTensor(input, given, winner);
    const amount = best === undefined ? undefined : role === "wins" ? value : 0;
    running = running === undefined || amount === undefined ? undefined : running + amount;
    const values = nest.of.map((tensor) => readTensor(input, tensor, winner));
    const none = { weight: undefined, divisor: undefined };
    return { cells: new PointCells(points, winner), values, factors: values, ...none, amount, running, role };
  });
  return { contributions, total: running };
}

function readTensor({ points, readCell }: RuleInput, tensor: string, i: number): number | undefined {
  return readCell(tensor, points.offsets.get(tensor)?.[i] as number);
}

function winnersValue(input: RuleInput): RuleResult {
  const amounts = Array.from({ length: input.points.count }, (_, i) => sum(valuesAt(input, i).slice(1)));
  const best = bestOf(amounts, 1);
  return reduced(input, 0, ([given], i) => {
    const role = roleOf(amounts, best, i);
    return { amount: best === undefined ? undefined : role === "wins" ? given : 0, role };
  });
}

/** The distance below which two numbers count as equal. */
const CLOSE = 1e-5;

function close(input: RuleInput): RuleResult {
  return reduced(input, 0, ([given, one, other]) => {
    if (given === undefined || one === undefined || other === undefined) return { amount: undefined };
    const near = one === other || Math.abs(one - other) < CLOSE;
    return near ? { amount: given, role: "wins" } : { amount: 0, role: "loses" };
  });
}

function opaque(input: RuleInput): RuleResult {
  return {
    ...reduced(input, 0, (factors) => ({ amount: factors.length === 1 ? factors[0] : undefined })),
    total: undefined,
  };
}

const RULES: Readonly<Record<string, Rule>> = {
  sum: (input) =>
    reduced(input, 0, (factors, i) => ({ amount: product(factors, input.points.weights?.[i]) })),
  added: (input) => reduced(input, 0, (factors) => ({ amount: sum(factors) })),
  mean: (input) => {
    const { contributions, total } = reduced(input, 0, (factors) => ({ amount: product(factors) }));
    const divisor = Math.max(1, contributions.length);
    return { contributions, divisor, total: total === undefined ? undefined : total / divisor };
  },
  shares: (input) =>
    reduced(input, 0, ([given], i) => {
      const tensor = input.nest.of[0] as string;
      const divisor = input.nest.count(
        tensor,
        input.points.offsets.get(tensor)?.[i] as number,
        input.readCell,
      );
      return { amount: given === undefined ? undefined : given / divisor, divisor };
    }),
  product: (input) =>
    reduced(
      input,
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
  copy: (input) => {
    const { contributions } = reduced(
      input,
      0,
      ([given]) => ({ amount: given }),
      (_, amount) => amount,
    );
    return { contributions, total: contributions.length ? contributions[0]?.amount : 0 };
  },
  apply: opaque,
};
