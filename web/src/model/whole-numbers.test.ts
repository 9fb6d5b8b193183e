import { expect, test } from "vitest";
import { parseWholeNumbers } from "./whole-numbers.ts";

test.each([
  "1x4x4x4x1",
  "(1, 4, 4, 4, 1)",
  "[1,4,4,4,1]",
  "1 4 4 4 1",
  "1, 4, 4, 4, 1",
  "1×4×4×4×1",
  " 1 x 4 X 4 * 4 ; 1 ",
  "(1, 4, 4, 4, 1,)",
])("%j is a shape of five axes", (text) => expect(parseWholeNumbers(text)).toEqual([1, 4, 4, 4, 1]));

test.each([
  ["", []],
  ["()", []],
  ["[ ]", []],
  ["7", [7]],
  ["(7,)", [7]],
  ["-1, 3", [-1, 3]],
  ["+2x-3", [2, -3]],
])("%j is %j", (text, list) => expect(parseWholeNumbers(text)).toEqual(list));

test.each([
  "x",
  "1x",
  "x4",
  "1,,2",
  "1.5, 2",
  "(1, 2",
  "1, 2)",
  "[1, 2)",
  "2 ?",
  "1e3",
  "one",
  "99999999999999999999",
])("%j is no list of whole numbers", (text) => expect(parseWholeNumbers(text)).toBeUndefined());

test.each(["2, ?, 3", "[2, null, 3]", "(2, None, 3)", "2x?x3"])("%j has an unknown size", (text) =>
  expect(parseWholeNumbers(text, true)).toEqual([2, null, 3]),
);
