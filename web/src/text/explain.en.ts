/** The words of the Explain view in English. The other dictionaries have the same keys, or the type check fails. */

const number = new Intl.NumberFormat("en");

function cells(many: number): string {
  return `${number.format(many)} ${many === 1 ? "cell" : "cells"}`;
}

export const explainEn = {
  title: (block: string) => `Explain ${block}`,
  close: "Back to the page",
  stepBack: "Step back",
  step: "Step",
  play: "Play",
  pause: "Pause",
  pinned: "pinned",
  oneRange: "One colour range in each row",
  legend: {
    label: "What the marks mean",
    from: "comes from",
    feeds: "leads to",
    winner: "wins",
    tie: "ties",
  },
  keys: "Arrows move, Enter pins, Escape releases, S steps, P plays",
  loading: "Looking at what the last run gave…",
  run: "Run",
  noWays: (op: string) => `${op} does not say which of its cells belong together.`,
  forward: "Forward",
  gradient: "Gradient",
  secondGradient: "Second gradient",
  addGradient: (block: string, input: string) => `Add the gradient of ${block} with respect to ${input}`,
  noGradient: (op: string) => `${op} has no gradient that is one block.`,
  input: "input",
  output: "output",
  asVolume: "3-D",
  asMap: "Map",
  axes: "Axes",
  notHeld: (count: number) =>
    `This tensor has ${cells(count)}: the numbers behind a cell are fetched when it is pinned.`,
  pointAt: "Point at a cell, or move there with Tab and the arrow keys.",

  // What an output's cell comes from
  rules: {
    sum: (from: string) => `sum over ${from}`,
    mean: (from: string) => `mean of ${from}`,
    shares: (from: string) => `sum of the shares of ${from}`,
    product: (from: string) => `product of ${from}`,
    max: (from: string) => `maximum of ${from}`,
    min: (from: string) => `minimum of ${from}`,
    argmax: (from: string) => `place of the maximum of ${from}`,
    argmin: (from: string) => `place of the minimum of ${from}`,
    winners: (from: string) => `what it won of ${from}`,
    "winner's": (from: string) => `what the winner holds of ${from}`,
    close: (from: string) => `sum over those that equal the maximum, of ${from}`,
    copy: (from: string) => `a copy of ${from}`,
    apply: (from: string) => `made of ${from}`,
  } as Record<string, (from: string) => string>,
  times: (regions: readonly string[]) => regions.join(" times "),
  and: (regions: readonly string[]) => regions.join(" and "),
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
  leadsTo: "Where it leads",
  cell: "cell",
  product: "product",
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
  unequal: (by: string) => `The total differs from the shown number by ${by}.`,
  onlyTheOp: "Only the op itself can tell what these cells make.",
  clipped: (outside: number, window: number) =>
    `${cells(outside)} of the window's ${number.format(window)} lie outside of the tensor and do not count.`,
  divisor: (count: number) => `The mean is over the ${cells(count)} that exist.`,
  firstOfTies: (count: number) => `${cells(count)} are equally large: the first in row-major order is taken.`,
  allOfTies: (count: number) =>
    `${cells(count)} equal the maximum within 0.00001: each gets the whole gradient.`,
  cutShort: (count: number) => `Too many to add up here; these are the first ${number.format(count)}.`,
  differences: "Differences from TensorFlow",

  // Check
  check: "Check with a finite difference",
  checking: "Checking…",
  checked: (given: string, slope: string) => `gradient ${given}, slope ${slope}`,
  agree: "They agree.",
  disagree: "They do not agree.",
  notValid: "There is no slope here to compare with.",
};

/** The shape of a dictionary. */
type Words<T> = T extends string
  ? string
  : T extends (...given: infer Given) => string
    ? (...given: Given) => string
    : { readonly [Key in keyof T]: Words<T[Key]> };

export type ExplainWords = Words<typeof explainEn>;
