/** Numbers as texts that other programs read. */

const NAMES: Readonly<Record<string, string>> = { bool: "np.bool_", string: "np.str_" };

/** What NumPy reads as the same array: np.array([[1, 2]], dtype=np.float32). */
export function numpyText(texts: readonly string[], shape: readonly number[], dtype: string): string {
  const type = dtype === "bfloat16" ? "np.float32" : (NAMES[dtype] ?? `np.${dtype}`);
  const written = texts.map((text) => pythonText(text, dtype));
  const count = shape.reduce((product, size) => product * size, 1);
  // Lists cannot say how long what is empty would be.
  if (count === 0) return `np.zeros((${shape.join(", ")},), dtype=${type})`;
  const nested = (axis: number, from: number, many: number): string => {
    if (axis === shape.length) return written[from] as string;
    const size = shape[axis] as number;
    const part = many / size;
    const inside = Array.from({ length: size }, (_, i) => nested(axis + 1, from + i * part, part));
    const between = axis === shape.length - 1 ? ", " : `,\n${" ".repeat("np.array(".length + axis + 1)}`;
    return `[${inside.join(between)}]`;
  };
  return `np.array(${nested(0, 0, count)}, dtype=${type})`;
}

function pythonText(text: string, dtype: string): string {
  if (dtype === "string") return JSON.stringify(text);
  if (dtype === "bool") return text === "true" ? "True" : "False";
  return text.replace(/nan|inf/g, (word) => `np.${word}`);
}

/** Rows of a table, as spreadsheets read them. */
export function csvText(texts: readonly string[], columns: number): string {
  const rows: string[] = [];
  for (let from = 0; from < texts.length; from += Math.max(columns, 1))
    rows.push(
      texts
        .slice(from, from + columns)
        .map((text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
        .join(","),
    );
  return rows.join("\n");
}
