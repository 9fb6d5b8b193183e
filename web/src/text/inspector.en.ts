/** English: the inspector. Other languages have the same keys, or the type check fails. */

const number = new Intl.NumberFormat("en");

export const inspectorEn = {
  inspector: "Inspector",
  keys: [
    ["← → ↑ ↓", "Move between cells"],
    ["Page Up, Page Down", "Move between slices"],
    ["Home, End", "First and last column; with Ctrl first and last cell"],
    ["Enter, Esc", "Pin a cell, unpin it"],
    ["Shift+← → ↑ ↓", "Move between cells in 3-D, where arrows rotate"],
    ["N", "Next NaN or infinity"],
    ["+ − 0", "Larger cells, smaller cells, all cells"],
    ["F2", "Edit a constant's value"],
    ["Space", "Paint the cell"],
  ],
  nothingSelected: "Select a block or a wire to inspect its tensors.",
  loading: "Loading values…",
  tensor: "Tensor",
  viewModes: "View",
  viewMode: { map: "Heatmap", table: "Table", box: "3-D", list: "List" },
  more: "Copy and download",
  copyNumpy: "Copy as NumPy",
  copyCsv: "Copy slice as CSV",
  download: "Download npy",
  downloaded: "The download has started.",
  downloadedBytes: (dtype: string) =>
    `The download has started. Read it with np.load(file).view(ml_dtypes.${dtype}).`,
  copied: "Copied.",
  copiedSlice: "Copied the slice that is shown.",
  pin: "Pin this tensor",
  unpin: "Unpin",
  compareAs: { a: "Compare as A", b: "Compare as B" },
  dock: { bottom: "Dock at the bottom", right: "Dock at the right" },

  heatmapOf: (pin: string) =>
    `Heatmap of ${pin}: arrows move from cell to cell, Page Up and Page Down from slice to slice`,
  tableOf: (pin: string) => `Table of the slice of ${pin} that is shown`,
  zoom: { 1: "Larger cells", [-1]: "Smaller cells", 0: "All cells" } as Record<1 | 0 | -1, string>,
  axes: "Axes",
  roles: { rows: "Rows", columns: "Columns", across: "Tiles across", down: "Tiles down", sliders: "Sliders" },
  axisIn: (axis: string, size: number, role: string) =>
    `${axis} ${size}: axis in ${role}. Left and right move it.`,
  moveAxis: "Drag it to another place, or move it with the arrow keys",
  indexOnAxis: (axis: string) => `Index on axis ${axis}`,
  volumeOf: (pin: string) =>
    `${pin} in 3-D: arrows rotate it, with Shift they move from cell to cell, Page Up and Page Down into depth, plus and minus change the threshold`,
  threshold: "Threshold of absolute values",
  volumeTooFlat: (axes: number) =>
    `The 3-D view needs three axes longer than 1; this tensor has ${axes}. The heatmap shows all of it.`,
  volumeNeedsAxes: "The 3-D view shows three axes: move one more from the sliders to rows, columns or tiles.",
  volumeTooLong: (axis: string, size: number, most: number) =>
    `The 3-D view has at most ${most} cells along an axis; axis ${axis} has ${number.format(size)}. Move ${axis} to the sliders, and another axis in its place.`,
  volumeTooLarge: "This tensor is too large to be loaded as a whole: open it in the inspector.",
  indexLabel: (axis: string, place: number) =>
    /^\d*$/.test(axis) ? `axis ${axis}: ${place}` : `${axis} ${place}`,
  pinned: "Pinned",
  unpinHow: "Unpin the cell, so that the cursor follows the pointer again",
  noCells: "This tensor has no cells: one of its sizes is 0.",
  noCell: "Point at a cell, or move there with the arrow keys.",
  valueOf: (cell: string) => `Value of ${cell}`,

  colours: "Colours",
  range: { all: "Min to max", most: "1 % to 99 %", typed: "Custom" },
  rangeLow: "Lower end of the colour range",
  rangeHigh: "Upper end of the colour range",
  clipped: "Values outside of the range are marked with + and −",
  sharing: "Scope of the colour range",
  shared: "Shared",
  sharedHow: "One colour range for all tensors that are shown",
  own: "Own",
  ownHow: "A colour range for each tensor",
  sharedFor: (many: number) => `One range for all ${many} tensors.`,
  hiddenByRange: (tensors: string) => `In it, ${tensors} has a single colour.`,
  ownOnly: "A range of its own.",
  ownAsFits: "A range of its own: in one for all, some tensors would have a single colour.",
  estimated: (some: number, all: number) =>
    `≈ estimated from ${number.format(some)} of ${number.format(all)} cells.`,
  scanned: (part: number) => `${Math.round(100 * part)} % scanned`,
  stopScan: (part: number) => `${Math.round(100 * part)} % scanned. Stop`,
  scanAll: "Scan all cells",
  histogram: "Histogram of values",
  least: "Min",
  most: "Max",
  mean: "Mean",
  deviation: "Std. dev.",
  zeros: "Zeros",
  count: (many: number) => number.format(many),
  nextNonFinite: "Next NaN or infinity",
  noNonFinite: "All values are finite.",
  firstNonFinite: (where: string) => `First in ${where}`,

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
  paintHow: "Draw over cells of the heatmap; Space paints the cell at the cursor",
  paintWith: "Value to paint with",
};

export type InspectorStrings = typeof inspectorEn;
