import { expect, test } from "vitest";
import { placed, readTable } from "./paste.ts";
import { defaultWells } from "./wells.ts";

test("a block of a spreadsheet is read row by row", () => {
  expect(readTable("1\t2\r\n3\t4\r\n")).toEqual([
    ["1", "2"],
    ["3", "4"],
  ]);
  expect(readTable("1, 2;3\n")).toEqual([["1", "2", "3"]]);
  expect(readTable('"a ""b"""\t1')).toEqual([['a "b"', "1"]]);
  expect(readTable("5")).toEqual([["5"]]);
});

test("where tabs part the cells, a comma is a part of one", () => {
  expect(readTable("1,5\t2")).toEqual([["1,5", "2"]]);
});

test("a table is laid along rows and columns from a cell on, as far as there are cells", () => {
  const shape = [2, 2, 3];
  const table = [
    [1, 2],
    [3, undefined],
    [5, 6],
  ];
  expect(placed(table, [1, 0, 2], defaultWells(shape), shape)).toEqual([
    [[1, 0, 2], 1],
    [[1, 1, 2], 3],
  ]);
  expect(placed(table, [0], defaultWells([4]), [4])).toEqual([
    [[0], 1],
    [[1], 2],
  ]);
  expect(placed(table, [], defaultWells([]), [])).toEqual([[[], 1]]);
});
