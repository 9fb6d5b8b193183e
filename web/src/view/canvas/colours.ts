/** The colours of the theme for canvas drawing, read from the style sheet once. */

const NAMES = {
  ground: "--ground",
  dots: "--dots",
  surface: "--surface",
  sunken: "--sunken",
  line: "--line",
  lineStrong: "--line-strong",
  ink: "--ink",
  inkSoft: "--ink-soft",
  accent: "--accent",
  accentSoft: "--accent-soft",
  good: "--good",
  warn: "--warn",
  bad: "--bad",
  badSoft: "--bad-soft",
  note: "--note",
  noteLine: "--note-line",
  frame: "--frame",
  frameLine: "--frame-line",
  float: "--type-float",
  int: "--type-int",
  unsigned: "--type-unsigned",
  bool: "--type-bool",
  complex: "--type-complex",
  string: "--type-string",
  state: "--type-state",
  any: "--type-any",
} as const;

export type Colours = Record<keyof typeof NAMES, string> & { font: string; mono: string; aside: number };
export type Family = "float" | "int" | "unsigned" | "bool" | "complex" | "string" | "state" | "any";

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  const colours = Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, read(name)]));
  return {
    ...colours,
    font: read("--font"),
    mono: read("--mono"),
    aside: Number(read("--aside")),
  } as Colours;
}

/** Families of dtypes, each with a colour. */
export function dtypeFamily(dtype: string | undefined): Family {
  if (dtype === undefined) return "any";
  if (dtype.startsWith("float") || dtype === "bfloat16" || dtype === "half") return "float";
  if (dtype.startsWith("uint")) return "unsigned";
  if (dtype.startsWith("int")) return "int";
  if (dtype.startsWith("complex")) return "complex";
  if (dtype === "bool") return "bool";
  if (dtype === "string") return "string";
  if (dtype === "resource" || dtype === "variant") return "state";
  return "any";
}
