import { describe, expect, test } from "vitest";
import { cellsOf, constantOf, parseCellOrNumber, reshaped } from "../../model/constant-cells.ts";
import { ravelIndex, unravelIndex } from "../../model/indexing.ts";
import { viewEn } from "../../text/view.en.ts";
import { filled, gridAxes, parseNested, parsePasted } from "./constant.ts";

const matrix = {
  dtype: "float32",
  value: [
    [1, 2],
    [3, "inf"],
  ],
};

describe("a constant as cells", () => {
  test("is written as it was read", () => {
    const cells = cellsOf(matrix);
    expect(cells).toEqual({ dtype: "float32", shape: [2, 2], elements: [1, 2, 3, "inf"] });
    expect(cells && constantOf(cells)).toEqual(matrix);
  });
  test.each([[[0, 3]], [[2, 0, 4]]])("keeps a shape of %j, which has no cells", (shape) => {
    const empty = { dtype: "float32", shape, elements: [] };
    expect(cellsOf(constantOf(empty))).toEqual(empty);
  });
  test("may be a single number, and keeps that it was typed as 1.0", () => {
    expect(cellsOf({ $number: "1.0" })).toEqual({
      dtype: undefined,
      shape: [],
      elements: [{ $number: "1.0" }],
    });
    expect(cellsOf(3)).toEqual({ dtype: undefined, shape: [], elements: [3] });
  });
  test("is none if it lies in a file, is a wire, or its rows differ in length", () => {
    expect(cellsOf({ dtype: "float32", file: "a.npy", shape: [2] })).toBeUndefined();
    expect(cellsOf("x:output")).toBeUndefined();
    expect(cellsOf([[1], [2, 3]])).toBeUndefined();
  });
  test("keeps what stands at a place when it grows", () => {
    const grown = reshaped(cellsOf(matrix) as never, [3, 3], 0);
    expect(grown.elements).toEqual([1, 2, 0, 3, "inf", 0, 0, 0, 0]);
  });
  test("keeps the order of cells when only the shape changes", () => {
    expect(reshaped(cellsOf(matrix) as never, [4], 0).elements).toEqual([1, 2, 3, "inf"]);
  });
  test("counts places in row-major order", () => {
    expect(unravelIndex(5, [2, 3])).toEqual([1, 2]);
    expect(unravelIndex(0, [])).toEqual([]);
  });
});

describe("a cell that is typed", () => {
  test.each([
    ["1.5", "float32", 1.5],
    ["-inf", "float64", "-inf"],
    ["1.5", "int32", undefined],
    ["-1", "uint8", undefined],
    ["9007199254740993", "int64", "9007199254740993"],
    ["yes", "bool", undefined],
    ["TRUE", "bool", true],
    ["1-2j", "complex64", "1-2j"],
    ["1.0", undefined, { $number: "1.0" }],
    ["", "float32", undefined],
  ])("%s as %s", (text, dtype, cell) => {
    expect(parseCellOrNumber(text, dtype)).toEqual(cell);
  });
  test("may be nested lists with infinities", () => {
    expect(parseNested("[[1, inf], [nan, -inf]]", "float32")?.elements).toEqual([1, "inf", "nan", "-inf"]);
    expect(parseNested("[1, [2]]", "float32")).toBeUndefined();
  });
});

test("random cells are the same every time", () => {
  const cells = { dtype: "int32", shape: [4], elements: [0, 0, 0, 0] };
  expect(filled(cells, "random")).toEqual(filled(cells, "random"));
  expect(filled(cells, "ramp").elements).toEqual([1, 2, 3, 4]);
});

test("a grid shows the last two axes that have more than one place", () => {
  expect(gridAxes([1, 4, 4, 4, 1])).toEqual({ row: 2, column: 3, others: [0, 1, 4] });
  expect(gridAxes([5, 1, 1])).toEqual({ row: 0, column: 2, others: [1] });
  expect(gridAxes([2, 3])).toEqual({ row: 0, column: 1, others: [] });
  expect(gridAxes([3])).toEqual({ row: undefined, column: 0, others: [] });
  expect(gridAxes([])).toEqual({ row: undefined, column: undefined, others: [] });
  const shape = [2, 3, 4];
  for (let i = 0; i < 24; i++) expect(ravelIndex(unravelIndex(i, shape), shape)).toBe(i);
});

describe("a pasted table", () => {
  test("is read cell by cell", () => {
    expect(parsePasted("1,5\t2\ninf\t-3", "float32", viewEn)).toEqual({
      value: [
        [1.5, 2],
        ["inf", -3],
      ],
    });
  });
  test.each([
    [
      "1\t2\n3",
      "float32",
      "Nothing was pasted: rows must have as many cells as the first, which has 2; row 2 has 1.",
    ],
    [
      "1\t2\n3\tx",
      "float32",
      'Nothing was pasted: row 2, column 2 is "x". It must be a number of float32, inf or nan.',
    ],
    [
      "1\t200",
      "int8",
      'Nothing was pasted: row 1, column 2 is "200". It must be an integer of int8, from -128 to 127.',
    ],
    [
      "1,234\t5",
      "float32",
      'Nothing was pasted: row 1, column 1 is "1,234". It must be a number of float32, inf or nan.',
    ],
  ])("%j as %s is refused as a whole", (text, dtype, error) => {
    expect(parsePasted(text, dtype, viewEn)).toEqual({ error });
  });
});

test("a ramp of small whole numbers begins again where they end", () => {
  const cells = { dtype: "int8", shape: [130], elements: new Array(130).fill(0) };
  expect(filled(cells, "ramp").elements.slice(125)).toEqual([126, 127, 1, 2, 3]);
});
