/** English: the Explain view. Other languages have the same keys, or the type check fails. */

import type { Translation } from "./translation.ts";

const number = new Intl.NumberFormat("en");

function cells(many: number): string {
  return `${number.format(many)} ${many === 1 ? "cell" : "cells"}`;
}

/** Why a gradient check has no finite difference: the one-sided slopes, and the op, input or limit it is about. */
export interface Slopes {
  readonly below: string;
  readonly above: string;
  readonly about: readonly string[];
}

export const explainEn = {
  title: (block: string) => `Explain ${block}`,
  close: "Back to the page",
  stepBack: "Step back",
  step: "Step",
  play: "Play",
  pause: "Pause",
  pinned: "pinned",
  hiddenByRange: (tensors: string) => `In one colour range, ${tensors} has a single colour.`,
  sharedRange: "One colour range in each row",
  legend: {
    label: "Legend",
    from: "comes from",
    feeds: "leads to",
    winner: "wins",
    tie: "ties",
  },
  keys: "Arrows move, Enter pins, Escape releases, S steps, P plays",
  loading: "Loading the values of the last run…",
  run: "Run",
  notDeclared: (op: string) => `${op} does not declare which cells its outputs depend on.`,
  noDependencies: (op: string) => `The output of ${op} depends on no cell of another tensor.`,
  forward: "Forward",
  gradient: "Gradient",
  secondGradient: "Second gradient",
  addGradient: (block: string, input: string) => `Add the gradient of ${block} with respect to ${input}`,
  noGradient: (op: string) => `${op} has no gradient that is a single block.`,
  input: "input",
  output: "output",
  asVolume: "3-D",
  asHeatmap: "Heatmap",
  axes: "Axes",
  notHeld: (count: number) =>
    `This tensor has ${cells(count)}: the numbers behind a cell are fetched when it is pinned.`,
  noCursor: "Point at a cell, or move there with Tab and the arrow keys.",

  // The rule for all cells at once
  general: {
    where: ", where ",
    mean: "mean",
    cellsOfWindow: "cells of its window",
    here: "this cell",
    weight: "weight",
  },

  // What an output's cell comes from
  rules: {
    sum: (from: string) => `sum over ${from}`,
    added: (from: string) => `sum of ${from}`,
    mean: (from: string) => `mean of ${from}`,
    shares: (from: string) => `sum of the shares of ${from}`,
    product: (from: string) => `product of ${from}`,
    max: (from: string) => `maximum of ${from}`,
    min: (from: string) => `minimum of ${from}`,
    argmax: (from: string) => `index of the maximum of ${from}`,
    "largest at": (from: string) => `index of the maximum of ${from}`,
    "smallest at": (from: string) => `index of the minimum of ${from}`,
    winners: (from: string) => `what it won of ${from}`,
    "winner's": (from: string) => `what the winner holds of ${from}`,
    close: (from: string) => `sum over those that equal the maximum, of ${from}`,
    copy: (from: string) => `a copy of ${from}`,
    apply: (from: string) => `computed from ${from}`,
  } as Record<string, (from: string) => string>,
  times: (regions: readonly string[]) => regions.join(" times "),
  and: (regions: readonly string[]) => regions.join(" and "),
  minus: (region: string) => ` minus ${region}`,
  nothing: "no cell leads to it",
  at: (cell: string) => `, at ${cell}`,
  ties: (count: number) => `, with ${cells(count)} as large`,
  feeds: (region: string) => `feeds ${region}`,
  wins: (count: number, of: number) =>
    of === 0 ? "" : count === 0 ? ", wins nowhere" : `, wins ${number.format(count)} of ${number.format(of)}`,
  unknown: "not known",

  // The table
  contributions: "Where it comes from",
  gradientOf: (pin: string) => `Its gradient, ${pin}`,
  dependents: "Where it leads",
  cell: "cell",
  product: "product",
  both: "sum",
  weight: "weight",
  share: "share",
  sum: "running sum",
  best: "best so far",
  running: "so far",
  adds: "adds",
  counts: { wins: "wins", ties: "ties", loses: "", counts: "" },
  gives: "gives",
  more: (count: number) => `and ${number.format(count)} more`,
  total: "Total",
  divided: (count: number) => `÷ ${number.format(count)}`,
  shown: "Shown",
  equal: "The total is the shown number.",
  rounded: "The total is the shown number but for rounding.",
  unequal: (by: string) => `The total differs from the shown number by ${by}.`,
  opGives: (op: string) => `${op} gives`,
  clipped: (outside: number, window: number) =>
    `${cells(outside)} of the window's ${number.format(window)} lie outside of the tensor and do not count.`,
  divisor: (count: number) => `The mean is over the ${cells(count)} that exist.`,
  clippedShares: (clipped: number, windows: number, cells: number) =>
    `Of ${windows === 1 ? "one window" : `${number.format(windows)} windows`} here ${number.format(clipped)} reach beyond the tensor: what comes back is divided by the cells that exist, not by ${number.format(cells)}.`,
  truncatedMean: "The mean is truncated to an integer, toward zero.",
  quantized: "The numbers are quantized codes; beside each stands the number that it represents.",
  quantizedSum:
    "The numbers are quantized codes. The numbers that they represent are multiplied and added up, and the sum is rounded to the nearest code.",
  firstOfTies: (count: number) => `${cells(count)} are equally large: the first in row-major order is taken.`,
  allOfTies: (count: number) =>
    `${cells(count)} equal the maximum within 0.00001: each gets the whole gradient.`,
  tooMany: (count: number) => `Too many to add up here; these are the first ${number.format(count)}.`,
  differences: "Differences from TensorFlow",
  differsHere: "here",
  differsElsewhere: "Not at this cell:",
  differsInCalls: "In general:",
  inEnglish: "",
  topics: {} as Record<string, string>,
  affects: {
    nan: "A NaN is among the numbers that lead here.",
    "later nan": "A window here holds a NaN that is not its first cell.",
    "nan wins": "This cell is NaN, and wins a window.",
    "inf wins": "This cell is infinite, and wins a window.",
    "-inf": "A window here holds nothing but minus infinity.",
    "padded -inf": "This window reaches into the padding and holds nothing but minus infinity.",
    tie: "This cell is as large as the maximum of a window, within 0.00001, and is not the first.",
    padding: "A NaN or an infinity meets the padding here.",
    "no cell": "This window has no cell that exists.",
    orig_output: "orig_output is not the maximum of this window.",
    cut: "The nearest integer is another one.",
    "below 0": "This window reaches into the padding, and 0 has no code.",
    half: "Several numbers are added up here, in a half type.",
    "later image": "This is not the first image of the batch.",
    apart: "The stride is larger than the window, and the padding is SAME.",
    "channel windows": "The window lies over channels, and there are strides in space.",
    layout: "This block has a layout or a padding that TensorFlow's kernel does not take.",
    dilated: "This block has dilations or groups.",
  } as Record<string, string>,

  // Check
  check: "Check with a finite difference",
  checking: "Checking…",
  checked: (given: string, slope: string) => `gradient ${given}, slope ${slope}`,
  agree: "They agree.",
  disagree: "They do not agree.",
  notComparable: "There is no slope here to compare with.",
  noSlope: {
    "not finite": () => "This number is not finite.",
    "non-finite result": () => "A NaN or an infinity lies between it and the output.",
    "two slopes": ({ below, above }: Slopes) =>
      `It is ${below} below this number and ${above} above it, as at a tie, where a little more or less decides which cell counts.`,
    integers: () => "These are integers, which a small step does not change.",
    "random op": ({ about: [op] }: Slopes) => `The output is random: ${op} draws again in each run.`,
    "unknown input": ({ about: [op, input] }: Slopes) =>
      `${input} of ${op} is not known: add the ${op} whose gradient it is, and wire it to that.`,
    "too large": ({ about: [, most] }: Slopes) =>
      `A tensor of more than ${number.format(Number(most))} cells is too large to be recomputed: make its inputs smaller.`,
  },
};

export type ExplainStrings = Translation<typeof explainEn>;
