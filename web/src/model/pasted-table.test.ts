import { expect, test } from "vitest";
import { defaultRoles } from "./axis-roles.ts";
import { parseTable, pasteAt, plainNumbers } from "./pasted-table.ts";

const SQUARE = [
  ["1", "2"],
  ["3", "4"],
];

test.each([
  ["1\t2\n3\t4"],
  ["1\t2\r\n3\t4\r\n"],
  ["1\t2\r3\t4\r"],
  ["1, 2\n3, 4\n"],
  ["1; 2\n3; 4\n"],
  ['"1"\t"2"\n "3" \t4\n\n'],
])("%j is read row by row", (text) => {
  expect(parseTable(text)).toEqual(SQUARE);
});

test("a lone number is a table, and an empty cell is a cell", () => {
  expect(parseTable("5")).toEqual([["5"]]);
  expect(parseTable("1\t\n\t4")).toEqual([
    ["1", ""],
    ["", "4"],
  ]);
});

test("quotes hold tabs, line ends and quotes; of texts, commas part nothing", () => {
  expect(parseTable('"a ""b"""\t"c\td\ne"\n1\t2')).toEqual([
    ['a "b"', "c\td\ne"],
    ["1", "2"],
  ]);
  expect(parseTable("a, b\nc; d", true)).toEqual([["a, b"], ["c; d"]]);
});

test.each([
  ["where tabs part the cells, a comma goes before the fraction", ["1,5", "2"], ["1.5", "2"]],
  ["or semicolons", ["1.234,5", "-0,25", "1.234"], ["1234.5", "-0.25", "1234"]],
  ["commas between thousands are left out", ["1,234.5", "12,345"], ["1234.5", "12345"]],
  ["spaces between thousands too", ["1 234", "1\u00a0234,5"], ["1234", "1234.5"]],
  ["a minus may be a longer one", ["\u22125"], ["-5"]],
  ["what can be both stays", ["1,234", "7"], ["1,234", "7"]],
  ["numbers as ours are left alone", ["0.125", "1e-3", "inf", "true"], ["0.125", "1e-3", "inf", "true"]],
])("%s", (_, row, plain) => {
  expect(plainNumbers([row])).toEqual([plain]);
});

test("a table is laid along rows and columns from a cell on", () => {
  const shape = [2, 2, 3];
  expect(pasteAt([[1], [3]], [1, 0, 2], defaultRoles(shape), shape)).toEqual([
    [[1, 0, 2], 1],
    [[1, 1, 2], 3],
  ]);
  expect(pasteAt([[1, 2]], [0], defaultRoles([4]), [4])).toEqual([
    [[0], 1],
    [[1], 2],
  ]);
  expect(pasteAt([[1]], [], defaultRoles([]), [])).toEqual([[[], 1]]);
});

test("a table that does not fit takes no cell", () => {
  const shape = [2, 3];
  expect(pasteAt([[1, 2]], [0, 2], defaultRoles(shape), shape)).toBeUndefined();
  expect(pasteAt([[1], [2], [3]], [0, 0], defaultRoles(shape), shape)).toBeUndefined();
  expect(pasteAt([[1], [2]], [0], defaultRoles([4]), [4])).toBeUndefined();
  expect(pasteAt([[1, 2]], [], defaultRoles([]), [])).toBeUndefined();
});
