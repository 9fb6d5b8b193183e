/** The words of the inspector in English. The other dictionaries have the same keys, or the type check fails. */

const number = new Intl.NumberFormat("en");

export const inspectorEn = {
  inspector: "Inspector",
  keys: [
    ["← → ↑ ↓", "From cell to cell"],
    ["Page Up, Page Down", "From slice to slice"],
    ["Home, End", "First and last column; with Ctrl first and last cell"],
    ["Enter, Esc", "Keep a cell marked, let it go"],
    ["Shift+← → ↑ ↓", "From cell to cell in 3-D, where arrows turn the box"],
    ["N", "Next cell that is no number"],
    ["+ − 0", "Larger cells, smaller cells, all cells"],
    ["F2", "Type a constant's number"],
    ["Space", "Paint the cell"],
  ],
  selectSomething: "Select a block or a wire to see the numbers in it.",
  waiting: "Waiting for the numbers…",
  tensor: "Tensor",
  ways: "How it is shown",
  way: { map: "Map", table: "Table", box: "3-D", list: "List" },
  more: "Copy and download",
  copyNumpy: "Copy as NumPy",
  copyCsv: "Copy slice as CSV",
  download: "Download npy",
  downloaded: "The file is on its way.",
  downloadedBytes: (dtype: string) =>
    `The file is on its way. Read it with np.load(file).view(ml_dtypes.${dtype}).`,
  copied: "Copied.",
  copiedSlice: "Copied the slice that is shown.",
  pin: "Keep it here while the selection goes elsewhere",
  unpin: "Let it go",
  takeAs: { a: "Take it as A, to compare", b: "Take it as B, to compare" },
  dock: { bottom: "Dock below", right: "Dock at the right" },

  mapOf: (pin: string) =>
    `Map of ${pin}: arrows move from cell to cell, Page Up and Page Down from slice to slice`,
  tableOf: (pin: string) => `Table of the slice of ${pin} that is shown`,
  zoom: { 1: "Larger cells", [-1]: "Smaller cells", 0: "All cells" } as Record<1 | 0 | -1, string>,
  axes: "Axes",
  roles: { rows: "Rows", columns: "Columns", across: "Tiles across", down: "Tiles down", sliders: "Sliders" },
  axisIn: (axis: string, size: number, role: string) =>
    `${axis} ${size}: axis in ${role}. Left and right move it.`,
  moveAxis: "Drag it to another place, or move it with the arrow keys",
  placeOn: (axis: string) => `Place on axis ${axis}`,
  boxOf: (pin: string) =>
    `${pin} as a box of cells: arrows turn it, with Shift they move from cell to cell, Page Up and Page Down into depth, plus and minus change the threshold`,
  threshold: "Show cells from this size on",
  flatForBox: (axes: number) =>
    `A box needs three axes with more than one place; this tensor has ${axes}. The map shows all of it.`,
  fewForBox: "A box shows three axes: move one more from the sliders to rows, columns or tiles.",
  longForBox: (axis: string, size: number, most: number) =>
    `A box has at most ${most} cells a side; axis ${axis} has ${number.format(size)}. Move ${axis} to the sliders, and another axis in its place.`,
  largeForBox: "This tensor is too large to be here as a whole: look at it in the inspector.",
  placeIn: (axis: string, place: number) =>
    /^\d*$/.test(axis) ? `axis ${axis}: ${place}` : `${axis} ${place}`,
  release: "Pinned",
  releaseHow: "Let go of the cell, so that the cursor follows the pointer again",
  noCells: "This tensor has no cells: one of its sizes is 0.",
  noCell: "Point at a cell, or move there with the arrow keys.",
  valueOf: (cell: string) => `Value of ${cell}`,

  colours: "Colours",
  range: { all: "All numbers", most: "98 of 100", typed: "As set" },
  rangeLow: "First number with a colour",
  rangeHigh: "Last number with a colour",
  clipped: "What lies beyond is marked with + and −",
  sharing: "Whom these colours are for",
  same: "Same colours",
  sameHow: "One range of colours for all tensors that are shown",
  own: "Own",
  ownHow: "For each tensor a range of its own",
  sameFor: (many: number) => `One range for all ${many} tensors.`,
  ownOnly: "A range of its own.",
  ownAsFits: "A range of its own: in one for all, some tensors would have a single colour.",
  estimated: (some: number, all: number) =>
    `≈ estimated from ${number.format(some)} of ${number.format(all)} cells.`,
  lookedAt: (part: number) => `${Math.round(100 * part)} % looked at`,
  stopLooking: (part: number) => `${Math.round(100 * part)} % looked at. Stop`,
  lookAtAll: "Look at all cells",
  histogram: "How many cells hold which numbers",
  least: "Min",
  most: "Max",
  mean: "Mean",
  deviation: "Std. dev.",
  zeros: "Zeros",
  count: (many: number) => number.format(many),
  nextBad: "Next bad cell",
  noBad: "Every cell is a number.",
  firstBad: (where: string) => `First in ${where}`,

  compareBy: "Compare by",
  comparisons: { difference: "Difference", relative: "Relative", ulp: "ULP" },
  mismatches: (many: number) =>
    many === 0
      ? "All cells are equal."
      : `${number.format(many)} ${many === 1 ? "cell differs" : "cells differ"}`,
  worst: "Where they differ most",
  endComparison: "End the comparison",

  fillWith: "Fill and paint",
  paint: "Paint",
  paintHow: "Draw over cells of the map; Space paints the cell at the cursor",
  paintWith: "Number to paint with",
};

export type InspectorWords = typeof inspectorEn;
