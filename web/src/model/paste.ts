/** A block of cells as spreadsheets copy it. */

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
