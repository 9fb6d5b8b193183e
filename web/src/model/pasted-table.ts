/** Tables pasted from spreadsheets. */

import type { AxisRoles } from "./axis-roles.ts";
import { fullSlice, offsetIn } from "./slices.ts";

/** Parses a pasted table. The delimiter is the tab or else, but not for texts, the semicolon or the comma. */
export function parseTable(text: string, texts = false): string[][] {
  const parting = texts || text.includes("\t") ? "\t" : text.includes(";") ? ";" : ",";
  const whole = text.replace(/[\r\n]+$/, "");
  // Quoted cells may contain delimiters, line breaks and doubled quotes.
  const cells = new RegExp(`([ ]*"(?:[^"]|"")*"[ ]*|[^${parting}\\r\\n]*)(${parting}|\\r\\n?|\\n|$)`, "gy");
  const rows: string[][] = [[]];
  for (const [, cell, end] of whole.matchAll(cells)) {
    rows.at(-1)?.push(unquoted(cell as string));
    if (end === "") break;
    if (end !== parting) rows.push([]);
  }
  return rows;
}

function unquoted(text: string): string {
  const inside = /^"((?:[^"]|"")*)"$/.exec(text.trim());
  return inside ? (inside[1] as string).replaceAll('""', '"') : text.trim();
}

const GROUPED = { comma: /^[+-]?\d{1,3}(,\d{3})+$/, point: /^[+-]?[1-9]\d{0,2}(\.\d{3})+$/ };
const DECIMAL_COMMA = /^[+-]?(\d+|\d{1,3}(\.\d{3})+)?,\d+(e[+-]?\d+)?$/i;
const DECIMAL_POINT = /^[+-]?\d{1,3}(,\d{3})+\.\d*$/;

/**
 * Normalizes localized numbers, 1.234,5 and 1 234,5 and 1,234.5, to 1234.5. All cells together decide whether the comma
 * is the decimal separator; if they do not, 1,234 is left as it is.
 */
export function plainNumbers(table: readonly (readonly string[])[]): string[][] {
  const simple = table.map((row) =>
    row.map((text) =>
      text.replace(/^\u2212/, "-").replace(/(?<=\d)[\u0020\u00a0\u202f'](?=\d{3}(?!\d))/g, ""),
    ),
  );
  const cells = simple.flat();
  const comma = cells.some((text) => DECIMAL_COMMA.test(text) && !GROUPED.comma.test(text));
  const point = !comma && cells.some((text) => DECIMAL_POINT.test(text));
  const plain = (text: string): string => {
    if (comma && (DECIMAL_COMMA.test(text) || GROUPED.point.test(text)))
      return text.replaceAll(".", "").replace(",", ".");
    return point && (DECIMAL_POINT.test(text) || GROUPED.comma.test(text)) ? text.replaceAll(",", "") : text;
  };
  return simple.map((row) => row.map(plain));
}

/** The target cell of each entry, from a cell on along rows and columns; undefined if one lies outside. */
export function pasteAt<T>(
  table: readonly (readonly T[])[],
  from: readonly number[],
  { rows, columns }: AxisRoles,
  shape: readonly number[],
): [number[], T][] | undefined {
  const whole = fullSlice(shape);
  const found = table.flatMap((line, dy) =>
    line.flatMap((value, dx): [number[], T][] => {
      const at = from.map((place, axis) => place + (axis === rows ? dy : axis === columns ? dx : 0));
      const inside =
        (rows !== null || dy === 0) && (columns !== null || dx === 0) && offsetIn(whole, at) >= 0;
      return inside ? [[at, value]] : [];
    }),
  );
  return found.length === table.reduce((sum, line) => sum + line.length, 0) ? found : undefined;
}
