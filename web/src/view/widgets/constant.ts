/** Constants in widgets: grids, presets, pasted tables, and texts of cells. */

import { type ConstantCells, flat, formatCell, parseCellOrNumber } from "../../model/constant-cells.ts";
import type { Json } from "../../model/document.ts";
import { parseTable, plainNumbers } from "../../model/pasted-table.ts";
import { type Preset, type PresetOptions, preset } from "../../model/presets.ts";
import { limitsOf } from "../../model/values.ts";
import { parseWholeNumbers } from "../../model/whole-numbers.ts";
import type { ViewStrings } from "../../text/view.en.ts";
import type { ParseResult } from "./ValidatedField.tsx";

/** The axes that a grid shows as rows and columns (the last two longer than 1), and the others. */
export interface GridAxes {
  row: number | undefined;
  column: number | undefined;
  others: number[];
}

export function gridAxes(shape: readonly number[]): GridAxes {
  const axes = [...shape.keys()];
  const [short, long] = [axes.filter((axis) => shape[axis] === 1), axes.filter((axis) => shape[axis] !== 1)];
  const [row, column] = [...short, ...long].slice(-2).sort((a, b) => a - b);
  const others = axes.filter((axis) => axis !== row && axis !== column);
  return column === undefined ? { row: undefined, column: row, others } : { row, column, others };
}

/** A parser of cells for a field. */
export function cellParser(dtype: string | undefined, t: ViewStrings): (text: string) => ParseResult<Json> {
  return (text) => {
    const value = parseCellOrNumber(text, dtype);
    return value === undefined ? { error: cellRule(dtype, t) } : { value };
  };
}

export function cellRule(dtype: string | undefined, t: ViewStrings): string {
  return t.cellRule(dtype ?? "", limitsOf(dtype)?.map(String));
}

/** Fills cells by a preset. */
export function filled(cells: ConstantCells, how: Preset, options: PresetOptions = {}): ConstantCells {
  const { dtype } = cells;
  const whole = dtype !== undefined && /^u?int/.test(dtype);
  const most = Math.min(Number(limitsOf(dtype)?.[1] ?? Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
  const numbers = preset(how, cells.elements.length, { whole, most, ...options });
  const cell = (number: number): Json => {
    if (dtype === "bool") return how === "random" ? number > 0 : number % 2 === 1;
    return dtype === "string" ? String(number) : number;
  };
  return { ...cells, elements: numbers.map(cell) };
}

/** Parses a pasted table: cells in rows of equal length, or an error. */
export function parsePasted(text: string, dtype: string | undefined, t: ViewStrings): ParseResult<Json[][]> {
  const texts = parseTable(text, dtype === "string");
  const table = dtype === "string" ? texts : plainNumbers(texts);
  const length = table[0]?.length ?? 0;
  const ragged = table.findIndex((row) => row.length !== length);
  if (ragged >= 0) return { error: t.pasteRagged(length, ragged + 1, table[ragged]?.length ?? 0) };
  const cells: Json[][] = [];
  for (const [row, line] of table.entries()) {
    const read = line.map((part) => parseCellOrNumber(part, dtype));
    const wrong = read.indexOf(undefined);
    if (wrong >= 0)
      return { error: t.pasteWrong(row + 1, wrong + 1, texts[row]?.[wrong] ?? "", cellRule(dtype, t)) };
    cells.push(read as Json[]);
  }
  return { value: cells };
}

/** Parses nested lists, such as [[1, 2], [3, 4]]; undefined if the text is invalid. */
export function parseNested(text: string, dtype: string | undefined): ConstantCells | undefined {
  try {
    const parsed = JSON.parse(text.replace(/(?<!["\w])([+-]?inf|nan)(?!["\w])/gi, '"$1"')) as Json;
    const inner = flat(parsed);
    if (inner === undefined) return undefined;
    const elements = inner.elements.map((each) => parseCellOrNumber(formatCell(each), dtype));
    return elements.includes(undefined)
      ? undefined
      : { dtype, shape: inner.shape, elements: elements as Json[] };
  } catch {
    const list = parseWholeNumbers(text);
    return list && list.length > 0 ? parseNested(JSON.stringify(list), dtype) : undefined;
  }
}
