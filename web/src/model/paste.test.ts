import { expect, test } from "vitest";
import { readTable } from "./paste.ts";

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
