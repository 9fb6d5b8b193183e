/** Rules that tell whether a declared difference from TensorFlow's kernel affects one output cell. */

import type { AccessMap } from "../net/generated.ts";
import { type Derivation, windowValues } from "./contributions.ts";
import type { Json } from "./document.ts";
import type { ExplainedBlock } from "./highlights.ts";
import { elementCount } from "./indexing.ts";
import { LoopNest, type ReadCell } from "./loop-nest.ts";

/** An output cell with its derivations and what they were computed from. */
export interface CellContext {
  readonly row: ExplainedBlock;
  readonly name: string;
  readonly offset: number;
  readonly derivations: readonly Derivation[];
  /** Reads tensors by the names that the block gives them. */
  readonly readCell: ReadCell;
  /** The value of an attribute of the block. */
  readonly setting: (name: string) => Json | undefined;
}

/** Whether the rule of a difference holds at a cell; undefined if it names none that is known. */
export function differenceApplies(at: string | undefined, here: CellContext): boolean | undefined {
  return at ? RULES[at]?.(here) : undefined;
}

/** The compared numbers of one window, and whether this cell won it. */
interface Window {
  readonly amounts: readonly (number | undefined)[];
  /** The incoming gradient of the window, if the cell is one of a gradient. */
  readonly given: number | undefined;
  /** Whether the cell won the window. */
  readonly won: boolean;
  readonly clipped: boolean;
}

function comparedWindows({ name, derivations, readCell }: CellContext): Window[] {
  return derivations.flatMap(({ nest, contributions }): Window[] => {
    if (nest.rule === "winners" || nest.rule === "close") {
      const [given = ""] = nest.of;
      return contributions.map(({ cells, role, factors }) => ({
        amounts: [...windowValues(nest, given, cells.get(given) as number, readCell).values()],
        given: factors[0],
        won: role === "wins",
        clipped: false,
      }));
    }
    const amounts = contributions.map(({ amount, factors }) =>
      nest.rule === "winner's"
        ? factors.slice(1).reduce((all, each) => (all ?? 0) + (each ?? Number.NaN), 0)
        : amount,
    );
    const clipped = contributions.length < nest.windowSize(name);
    return [{ amounts, given: undefined, won: false, clipped }];
  });
}

/** The forward value at the cell of a gradient. */
function comparedValue({ name, offset, derivations, row, readCell }: CellContext): number | undefined {
  const own = derivations[0]?.nest.of[1] ?? "";
  return String(row.shapes[own]) === String(row.shapes[name]) ? readCell(own, offset) : undefined;
}

const isNaNValue = (value: number | undefined): boolean => value !== undefined && Number.isNaN(value);

function factorsOf(here: CellContext): (number | undefined)[] {
  return here.derivations.flatMap(({ contributions }) => contributions.flatMap(({ factors }) => factors));
}

function isAllMinusInfinity({ amounts }: Window): boolean {
  return amounts.length > 0 && amounts.every((each) => each === Number.NEGATIVE_INFINITY);
}

/** TensorFlow's kernel takes cells this near to the maximum for the maximum. */
const CLOSE = 1e-5;

function ties(here: CellContext): boolean {
  const own = comparedValue(here);
  if (own === undefined || here.derivations[0]?.nest.rule !== "winners") return false;
  return comparedWindows(here).some(({ amounts, given, won }) => {
    const top = Math.max(...amounts.map((each) => each ?? Number.NaN));
    return !won && given !== 0 && Math.abs(own - top) < CLOSE;
  });
}

/** NaN always wins here; in TensorFlow only as the first cell of a window. */
function laterNaN(here: CellContext): boolean {
  const own = comparedValue(here);
  return comparedWindows(here).some(({ amounts, given, won }) => {
    if (!amounts.some(isNaNValue) || isNaNValue(amounts[0])) return false;
    const top = Math.max(
      ...amounts.map((each) => (each === undefined || isNaNValue(each) ? -Infinity : each)),
    );
    return given === undefined || (given !== 0 && (won || own === top));
  });
}

/** Whether a non-finite number is multiplied by padding, which is 0 in TensorFlow and left out here. */
function meetsPadding({ row, name, offset, derivations, readCell }: CellContext): boolean {
  return derivations.some(({ nest }) =>
    nest.of.some((outside) => {
      const accessMap = row.explained.access_maps[row.nests.indexOf(nest)] as AccessMap;
      const others = Object.fromEntries(
        Object.entries(accessMap.cells).filter(([tensor]) => tensor !== outside),
      );
      if (!others[name]) return false;
      const unbounded = new LoopNest({ ...accessMap, cells: others }, row.shapes);
      return nest.of.some((tensor) => {
        if (tensor === outside) return false;
        const inside = new Set(nest.relatedCells(name, offset, tensor, readCell));
        return unbounded
          .relatedCells(name, offset, tensor, readCell)
          .some((at) => !inside.has(at) && !Number.isFinite(readCell(tensor, at) ?? 0));
      });
    }),
  );
}

/** Whether the stride is larger than the window, with SAME padding. */
function hasGapsBetweenWindows({ row, setting }: CellContext): boolean {
  return (
    setting("padding") === "SAME" &&
    row.explained.access_maps.some((accessMap) =>
      Object.values(accessMap.cells).some(({ at }) =>
        at.some(({ steps = {} }) => {
          const moves = Object.entries(steps).sort(([, a], [, b]) => b - a);
          const [[, stride] = ["", 0], ...taps] = moves;
          const reach = taps.reduce(
            (sum, [loop, step]) => sum + step * ((accessMap.loops[loop] ?? 1) - 1),
            1,
          );
          return stride > reach;
        }),
      ),
    )
  );
}

function hasEntryAboveOne(value: Json | undefined): boolean {
  return Array.isArray(value) && value.some((each) => typeof each === "number" && each > 1);
}

const RULES: Readonly<Record<string, (here: CellContext) => boolean>> = {
  nan: (here) =>
    comparedWindows(here).some(({ amounts }) => amounts.some(isNaNValue)) || factorsOf(here).some(isNaNValue),
  "later nan": laterNaN,
  "nan wins": (here) => comparedWindows(here).some(({ won }) => won) && isNaNValue(comparedValue(here)),
  "inf wins": (here) =>
    comparedWindows(here).some(({ won }) => won) && Math.abs(comparedValue(here) ?? 0) === Infinity,
  "-inf": (here) => comparedWindows(here).some(isAllMinusInfinity),
  "padded -inf": (here) => comparedWindows(here).some((each) => each.clipped && isAllMinusInfinity(each)),
  tie: ties,
  padding: meetsPadding,
  "no cell": ({ derivations }) => derivations.every(({ contributions }) => contributions.length === 0),
  orig_output: (here) => {
    const found = here.readCell("orig_output", here.offset);
    const top = Math.max(
      ...comparedWindows(here).flatMap(({ amounts }) => amounts.map((each) => each ?? Number.NaN)),
    );
    return found !== undefined && !Object.is(found + 0, top + 0);
  },
  cut: ({ derivations }) =>
    derivations.some(({ contributions, divisor, total }) => {
      const mean = (contributions.at(-1)?.running ?? 0) / (divisor ?? 1);
      return total !== undefined && Math.round(Math.abs(mean)) !== Math.abs(total);
    }),
  "below 0": ({ name, derivations, readCell }) =>
    (readCell("max_input", 0) ?? 0) < 0 &&
    derivations.some(({ nest, contributions }) => contributions.length < nest.windowSize(name)),
  half: ({ row, name, derivations }) =>
    /^b?float16$/.test(row.explained.tensors[name]?.dtype ?? "") &&
    derivations.some(({ contributions }) => contributions.filter(({ amount }) => amount).length > 1),
  "later image": ({ row, name, offset }) => offset >= elementCount((row.shapes[name] ?? []).slice(1)),
  apart: hasGapsBetweenWindows,
  "channel windows": ({ row, setting }) => {
    const channel = String(setting("data_format") ?? "NHWC").indexOf("C");
    const ksize = setting("ksize");
    const lies = Array.isArray(ksize) && Number(ksize[channel]) > 1;
    const strides = setting("strides");
    const space = Array.isArray(strides) ? strides.filter((_, axis) => axis !== channel) : [];
    return lies && hasEntryAboveOne(space) && row.nests.length > 0;
  },
  layout: ({ setting }) =>
    setting("padding") === "EXPLICIT" || String(setting("data_format") ?? "")[1] === "C",
  dilated: ({ row, setting }) =>
    hasEntryAboveOne(setting("dilations")) ||
    row.explained.access_maps.some(({ loops }) => (loops.g ?? 1) > 1),
};

/** The names of all rules. */
export const DIFFERENCE_RULES: readonly string[] = Object.keys(RULES);
