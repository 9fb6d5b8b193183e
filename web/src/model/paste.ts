/** A block of cells as spreadsheets copy it. */

import { offsetIn, wholeBox } from "./slices.ts";
import type { Wells } from "./wells.ts";

/** The texts of a pasted table, row by row. Without tabs, commas or semicolons part the cells. */
export function readTable(text: string): string[][] {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n");
  const tabs = text.includes("\t");
  return lines.map((line) => (tabs ? line.split("\t") : line.split(/\s*[,;]\s*/)).map(unquoted));
}

function unquoted(text: string): string {
  const inside = /^"((?:[^"]|"")*)"$/.exec(text.trim());
  return inside ? (inside[1] as string).replaceAll('""', '"') : text.trim();
}

/** The cells that a table takes, from one cell on along rows and columns; what is undefined or outside takes none. */
export function placed<T>(
  table: readonly (readonly (T | undefined)[])[],
  from: readonly number[],
  { rows, columns }: Wells,
  shape: readonly number[],
): [number[], T][] {
  const whole = wholeBox(shape);
  return table.flatMap((line, dy) =>
    line.flatMap((value, dx): [number[], T][] => {
      const at = from.map((place, axis) => place + (axis === rows ? dy : axis === columns ? dx : 0));
      const inside =
        (rows !== null || dy === 0) && (columns !== null || dx === 0) && offsetIn(whole, at) >= 0;
      return value !== undefined && inside ? [[at, value]] : [];
    }),
  );
}
