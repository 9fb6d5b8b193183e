import { expect, test } from "vitest";
import { complexOf, parseCell, parseValue, shapeOfLists, valueText } from "./values.ts";

test.each([
  ["2", 2],
  ["2.0", { $number: "2.0" }],
  ["2.", { $number: "2.0" }],
  [".5", 0.5],
  ["-.5e3", { $number: "-0.5e3" }],
  ["+7", 7],
  ["007", 7],
  ["[1, 2.5]", [1, 2.5]],
  ["[[1.0], [2]]", [[{ $number: "1.0" }], [2]]],
  ["true", true],
  ["x", undefined],
  ["[1,", undefined],
  ["1 2", [1, 2]],
  ["1x4x4", [1, 4, 4]],
  ["(1, -1)", [1, -1]],
  ["(3,)", [3]],
  ["1.5 2", undefined],
  ["", undefined],
])("typed %j is %j", (text, value) => expect(parseValue(text)).toEqual(value));

test.each([
  ["inf", "float32", "inf"],
  ["-Inf", "bfloat16", "-inf"],
  ["nan", "int32", undefined],
  ["1.5", "int32", undefined],
  ["9007199254740993", "int64", "9007199254740993"],
  ["1-2j", "complex64", "1-2j"],
  ["NaN-infj", "complex64", "nan-infj"],
  ["-.5e3j", "complex128", "-.5e3j"],
  ["1x", "complex64", undefined],
  ["1+2", "complex64", undefined],
  ["127", "int8", 127],
  ["128", "int8", undefined],
  ["-129", "int8", undefined],
  ["-1", "uint8", undefined],
  ["+7", "uint8", 7],
  ["18446744073709551615", "uint64", "18446744073709551615"],
  ["18446744073709551616", "uint64", undefined],
  ["3", "complex64", 3],
  ["yes", "bool", undefined],
  ["TRUE", "bool", true],
  [" a ", "string", " a "],
  ["", "float32", undefined],
  ["7", "int4", 7],
  ["8", "int4", undefined],
  ["4", "uint2", undefined],
  ["0.5", "float8_e5m2", 0.5],
])("a cell %j of %s is %j", (text, dtype, value) => expect(parseCell(text, dtype)).toEqual(value));

test("values are shown in one line, and cut where they are long", () => {
  expect(valueText([[1, { $number: "2.0" }], [true]])).toBe("[[1, 2.0], [true]]");
  expect(valueText({ dtype: "float32", value: ["inf", 1] })).toBe("[inf, 1]");
  expect(valueText({ dtype: "float32", shape: [784, 10], file: "a/w.npy" })).toBe("float32 [784, 10]");
  expect(valueText({ number: "inf" })).toBe("inf");
  expect(valueText("VALID")).toBe("VALID");
  expect(valueText([1, 2, 3, 4], 6)).toBe("[1, 2…");
});

test("nested lists have sizes if all rows are alike", () => {
  expect(shapeOfLists(3)).toEqual([]);
  expect(
    shapeOfLists([
      [1, 2, 3],
      [4, 5, 6],
    ]),
  ).toEqual([2, 3]);
  expect(shapeOfLists([[1], [2, 3]])).toBeUndefined();
  expect(shapeOfLists([])).toEqual([0]);
});

test.each([
  ["1-2j", [1, -2]],
  ["3", [3, 0]],
  ["0.5j", [0, 0.5]],
  ["-j", [0, -1]],
  ["1e-3+2e+2j", [1e-3, 200]],
  ["(inf-1j)", [Number.POSITIVE_INFINITY, -1]],
  ["", [Number.NaN, Number.NaN]],
])("%s is a complex number", (text, parts) => {
  expect(complexOf(text)).toEqual(parts);
});
