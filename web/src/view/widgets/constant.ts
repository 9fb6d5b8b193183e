/** Constants as flat cells with dtype and shape, converted from and to page values. */

import { isObject, isTyped, type Json } from "../../model/document.ts";
import { isExact } from "../../model/exact-json.ts";
import { elementCount, ravelIndex, unravelIndex } from "../../model/indexing.ts";
import { parseTable, plainNumbers } from "../../model/pasted-table.ts";
import { type Preset, type PresetOptions, preset } from "../../model/presets.ts";
import { limitsOf, parseCell, parseValue } from "../../model/values.ts";
import { parseWholeNumbers } from "../../model/whole-numbers.ts";
import type { ViewStrings } from "../../text/view.en.ts";
import { nested } from "../export/array-files.ts";
import type { ParseResult } from "./ValidatedField.tsx";

export interface ConstantCells {
  /** Undefined if the dtype is inferred. */
  dtype: string | undefined;
  shape: number[];
  elements: Json[];
}

/** The most cells of a constant that is not in a file. */
export const MAX_CELLS = 1 << 18;

/** The cells of a constant; undefined if it is in a file, or not an array. */
export function cellsOf(value: Json | undefined): ConstantCells | undefined {
  if (value === undefined || value === null || typeof value === "string") return undefined;
  if (isExact(value)) return { dtype: undefined, shape: [], elements: [value] };
  if (isObject(value) && isTyped(value)) {
    if (value.value === undefined) return undefined;
    const inner = flat(value.value);
    if (inner?.elements.length === 0 && value.shape) inner.shape = [...value.shape];
    return inner && { dtype: value.dtype, ...inner };
  }
  const inner = flat(value);
  return inner && { dtype: undefined, ...inner };
}

function flat(value: Json): { shape: number[]; elements: Json[] } | undefined {
  const shape: number[] = [];
  let level: Json[] = [value];
  while (level.length > 0 && level.every(Array.isArray)) {
    const lists = level as Json[][];
    const size = (lists[0] as Json[]).length;
    if (lists.some((list) => list.length !== size)) return undefined;
    shape.push(size);
    level = lists.flat();
  }
  return level.some(Array.isArray) ? undefined : { shape, elements: level };
}

export function constantOf({ dtype, shape, elements }: ConstantCells): Json {
  const value = nested(shape, elements as (number | string | boolean)[]) as Json;
  if (dtype === undefined) return value;
  // Nested lists cannot express the shape of an empty array.
  return elements.length === 0 ? { dtype, shape, value } : { dtype, value };
}

/** Reshapes or resizes: with another size, cells keep their index, and new ones are `fill`. */
export function reshaped(cells: ConstantCells, shape: number[], fill: Json): ConstantCells {
  const old = cells.shape;
  const count = elementCount(shape);
  if (count === cells.elements.length) return { ...cells, shape };
  const elements = Array.from({ length: count }, (_, i) => {
    const place = unravelIndex(i, shape);
    if (old.length !== shape.length || place.some((at, axis) => at >= (old[axis] as number))) return fill;
    return cells.elements[ravelIndex(place, old)] as Json;
  });
  return { ...cells, shape, elements };
}

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

/** Parses a cell; undefined if the text is invalid. Without a dtype it is an exact number. */
export function parseCellOrNumber(text: string, dtype: string | undefined): Json | undefined {
  if (dtype !== undefined) return parseCell(text, dtype);
  const value = parseValue(text);
  return Array.isArray(value) ? undefined : value;
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

export function formatCell(cell: Json | undefined): string {
  if (isExact(cell)) return cell.$number;
  if (isObject(cell) && typeof cell.base64 === "string") return `base64 ${cell.base64}`;
  return cell === undefined || cell === null ? "" : String(cell);
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
