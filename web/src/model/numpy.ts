/** Tensors as NumPy code and CSV text. */

import { elementCount } from "./indexing.ts";
import { ML_DTYPES } from "./ops.ts";

const NAMES: Readonly<Record<string, string>> = {
  bool: "np.bool_",
  string: "object",
};

/** The NumPy expression of a tensor: np.array([[1, 2]], dtype=np.float32). Strings must be Python literals. */
export function numpyText(texts: readonly string[], shape: readonly number[], dtype: string): string {
  const type = NAMES[dtype] ?? `${ML_DTYPES.includes(dtype) ? "ml_dtypes" : "np"}.${dtype}`;
  const written = texts.map((text) => pythonText(text, dtype));
  const count = elementCount(shape);
  // Nested lists cannot express the shape of an empty array.
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
  if (dtype === "string") return text;
  if (dtype === "bool") return text === "true" ? "True" : "False";
  // Python has no literals for these, and reads -0 as 0.
  if (dtype.startsWith("complex")) return /nan|inf|-0(?![.\d])/i.test(text) ? `complex("${text}")` : text;
  if (text === "-0" && dtype.includes("float")) return "-0.0";
  return text.toLowerCase().replace(/nan|inf/, (word) => `np.${word}`);
}

/** A bytes literal of Python. */
export function pythonBytes(bytes: Iterable<number>): string {
  const letter = (byte: number): string => {
    if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
    const plain = byte >= 0x20 && byte < 0x7f;
    return plain ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`;
  };
  return `b"${Array.from(bytes, letter).join("")}"`;
}

/** CSV text. */
export function csvText(texts: readonly string[], columns: number): string {
  const rows: string[] = [];
  for (let from = 0; from < texts.length; from += Math.max(columns, 1))
    rows.push(
      texts
        .slice(from, from + columns)
        .map((text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
        .join(","),
    );
  return rows.join("\n");
}
