/** Constants as flat cells with dtype and shape, converted from and to page values. */

import { isObject, isTyped, type Json } from "./document.ts";
import { isExact } from "./exact-json.ts";
import { elementCount, ravelIndex, unravelIndex } from "./indexing.ts";
import { parseCell, parseValue } from "./values.ts";

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

/** Nested lists as cells with a shape; undefined if they are ragged. */
export function flat(value: Json): { shape: number[]; elements: Json[] } | undefined {
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
  const value = nested(shape, elements);
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

/** The elements as nested lists, as a page has them. */
function nested(shape: readonly number[], elements: readonly Json[]): Json {
  if (shape.length === 0) return elements[0] as Json;
  const [size, ...rest] = shape as [number, ...number[]];
  const part = size === 0 ? 0 : elements.length / size;
  return Array.from({ length: size }, (_, i) => nested(rest, elements.slice(i * part, (i + 1) * part)));
}

/** Converts cells to another dtype: fractions are cut for integers, and what is no number becomes 0 or 1. */
export function retyped(cells: ConstantCells, dtype: string | undefined): ConstantCells {
  const elements = cells.elements.map((cell) => {
    const text = formatCell(cell);
    const number = Number(text);
    const whole =
      dtype !== undefined && /^u?int/.test(dtype) && Number.isFinite(number)
        ? String(Math.trunc(number))
        : text;
    return parseCellOrNumber(whole, dtype) ?? parseCellOrNumber(text === "true" ? "1" : "0", dtype) ?? 0;
  });
  return { ...cells, dtype, elements };
}

/** Parses a cell; undefined if the text is invalid. Without a dtype it is an exact number. */
export function parseCellOrNumber(text: string, dtype: string | undefined): Json | undefined {
  if (dtype !== undefined) return parseCell(text, dtype);
  const value = parseValue(text);
  return Array.isArray(value) ? undefined : value;
}

export function formatCell(cell: Json | undefined): string {
  if (isExact(cell)) return cell.$number;
  if (isObject(cell) && typeof cell.base64 === "string") return `base64 ${cell.base64}`;
  return cell === undefined || cell === null ? "" : String(cell);
}
