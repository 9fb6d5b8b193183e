/** Whether a difference from TensorFlow's kernel shows at one number: by the cells that lead to it. */

import type { Way } from "../net/generated.ts";
import { type Derivation, windowValues } from "./contributions.ts";
import type { Json } from "./document.ts";
import type { ExplainedBlock } from "./highlights.ts";
import { elementCount } from "./indexing.ts";
import { LoopNest, type ReadCell } from "./loop-nest.ts";

/** A cell of an output, and how it comes about. */
export interface CellContext {
  readonly row: ExplainedBlock;
  readonly name: string;
  readonly place: number;
  readonly derivations: readonly Derivation[];
  /** What tensors hold, by their names in the row. */
  readonly holding: ReadCell;
  /** What the block has for an attribute. */
  readonly setting: (name: string) => Json | undefined;
}

/** Whether the rule that a difference names holds here; undefined if it has none, or one that is not known. */
export function differenceApplies(at: string | undefined, here: CellContext): boolean | undefined {
  return at ? RULES[at]?.(here) : undefined;
}

/** What is compared in one window, and what becomes of the cell that is looked at. */
interface Window {
  readonly amounts: readonly (number | undefined)[];
  /** What flows back through it, if it is looked at from a cell of a gradient. */
  readonly given: number | undefined;
  /** Whether the cell won it. */
  readonly won: boolean;
  readonly clipped: boolean;
}

function comparedWindows({ name, derivations, holding }: CellContext): Window[] {
  return derivations.flatMap(({ nest, contributions }): Window[] => {
    if (nest.rule === "winners" || nest.rule === "close") {
      const [given = ""] = nest.of;
      return contributions.map(({ cells, part, factors }) => ({
        amounts: [...windowValues(nest, given, cells.get(given) as number, holding).values()],
        given: factors[0],
        won: part === "wins",
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

/** What the cell of a gradient holds in the tensor that is compared. */
function comparedValue({ name, place, derivations, row, holding }: CellContext): number | undefined {
  const own = derivations[0]?.nest.of[1] ?? "";
  return String(row.shapes[own]) === String(row.shapes[name]) ? holding(own, place) : undefined;
}

const isNaNValue = (value: number | undefined): boolean => value !== undefined && Number.isNaN(value);

function factorsOf(here: CellContext): (number | undefined)[] {
  return here.derivations.flatMap(({ contributions }) => contributions.flatMap(({ factors }) => factors));
}

function isAllMinusInfinity({ amounts }: Window): boolean {
  return amounts.length > 0 && amounts.every((each) => each === Number.NEGATIVE_INFINITY);
}

/** How near to the largest TensorFlow's kernel takes a cell for it. */
const CLOSE = 1e-5;

function ties(here: CellContext): boolean {
  const own = comparedValue(here);
  if (own === undefined || here.derivations[0]?.nest.rule !== "winners") return false;
  return comparedWindows(here).some(({ amounts, given, won }) => {
    const top = Math.max(...amounts.map((each) => each ?? Number.NaN));
    return !won && given !== 0 && Math.abs(own - top) < CLOSE;
  });
}

/** NaN wins wherever it stands; for TensorFlow only in a window's first place. */
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

/** Whether what is not finite meets padding, which is 0 for TensorFlow: the other tensors' cells at points outside. */
function meetsPadding({ row, name, place, derivations, holding }: CellContext): boolean {
  return derivations.some(({ nest }) =>
    nest.of.some((outside) => {
      const way = row.explained.ways[row.nests.indexOf(nest)] as Way;
      const others = Object.fromEntries(Object.entries(way.cells).filter(([tensor]) => tensor !== outside));
      if (!others[name]) return false;
      const unbounded = new LoopNest({ ...way, cells: others }, row.shapes);
      return nest.of.some((tensor) => {
        if (tensor === outside) return false;
        const inside = new Set(nest.relatedCells(name, place, tensor, holding));
        return unbounded
          .relatedCells(name, place, tensor, holding)
          .some((at) => !inside.has(at) && !Number.isFinite(holding(tensor, at) ?? 0));
      });
    }),
  );
}

/** Whether a stride leaves cells out between two windows, and the padding is to be found by the op. */
function hasGapsBetweenWindows({ row, setting }: CellContext): boolean {
  return (
    setting("padding") === "SAME" &&
    row.explained.ways.some((way) =>
      Object.values(way.cells).some(({ at }) =>
        at.some(({ steps = {} }) => {
          const moves = Object.entries(steps).sort(([, a], [, b]) => b - a);
          const [[, stride] = ["", 0], ...taps] = moves;
          const reach = taps.reduce((sum, [loop, step]) => sum + step * ((way.loops[loop] ?? 1) - 1), 1);
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
    const found = here.holding("orig_output", here.place);
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
  "below 0": ({ name, derivations, holding }) =>
    (holding("max_input", 0) ?? 0) < 0 &&
    derivations.some(({ nest, contributions }) => contributions.length < nest.windowSize(name)),
  half: ({ row, name, derivations }) =>
    /^b?float16$/.test(row.explained.tensors[name]?.dtype ?? "") &&
    derivations.some(({ contributions }) => contributions.filter(({ amount }) => amount).length > 1),
  "later image": ({ row, name, place }) => place >= elementCount((row.shapes[name] ?? []).slice(1)),
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
    hasEntryAboveOne(setting("dilations")) || row.explained.ways.some(({ loops }) => (loops.g ?? 1) > 1),
};

/** The rules by which differences say where they show. */
export const DIFFERENCE_RULES: readonly string[] = Object.keys(RULES);
