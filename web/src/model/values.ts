/** Formatting and parsing of values that users type. */

import { isObject, isTyped, type Json, type TypedConstant } from "./document.ts";
import { isExact, parseExact, parseNumber } from "./exact-json.ts";
import { parseWholeNumbers } from "./whole-numbers.ts";

/** A value in one line, truncated with an ellipsis. */
export function valueText(value: Json | undefined, most = Number.POSITIVE_INFINITY): string {
  const text = value === undefined ? "" : isTyped(value) ? typedText(value) : plainText(value);
  return text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1))}…`;
}

function typedText(value: TypedConstant): string {
  if (value.file !== undefined) return `${value.dtype ?? ""} [${(value.shape ?? []).join(", ")}]`.trim();
  return plainText(value.value ?? null);
}

function plainText(value: Json): string {
  if (isExact(value)) return value.$number;
  if (Array.isArray(value)) return `[${value.map(plainText).join(", ")}]`;
  if (isObject(value)) return "number" in value ? plainText(value.number as Json) : JSON.stringify(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Parses a number, a boolean, nested lists or whole numbers; undefined if the text is none. */
export function parseValue(text: string): Json | undefined {
  const short = text.trim();
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(short)) return parseNumber(jsonNumber(short));
  if (short === "true" || short === "false") return short === "true";
  if (short.startsWith("["))
    try {
      return parseExact(short);
    } catch {
      return undefined;
    }
  const list = parseWholeNumbers(short);
  return list && (list.length > 1 || short.startsWith("(")) ? list : undefined;
}

/** A number literal in JSON's syntax. */
function jsonNumber(text: string): string {
  const [, sign, whole, part, power] = /^([+-]?)(\d*)\.?(\d*)([eE].*)?$/.exec(text) as RegExpExecArray;
  const fraction = text.includes(".") ? `.${part || "0"}` : "";
  return `${sign === "-" ? "-" : ""}${(whole || "0").replace(/^0+(?=\d)/, "")}${fraction}${power ?? ""}`;
}

/** The shape of nested lists; undefined if they are ragged. */
export function shapeOfLists(value: Json | undefined): number[] | undefined {
  if (!Array.isArray(value)) return [];
  const inside = value.map((each) => shapeOfLists(each as Json));
  const first = inside[0] ?? [];
  const even = inside.every((each) => each !== undefined && String(each) === String(first));
  return even ? [value.length, ...first] : undefined;
}

/** The limits of an integer dtype; undefined for other dtypes. */
export function limitsOf(dtype: string | undefined): readonly [bigint, bigint] | undefined {
  const [, unsigned, bits] = /^(u?)int(\d+)$/.exec(dtype ?? "") ?? [];
  if (bits === undefined) return undefined;
  const span = 1n << BigInt(bits);
  return unsigned ? [0n, span - 1n] : [-span / 2n, span / 2n - 1n];
}

function within(dtype: string, whole: string): boolean {
  const [least, most] = limitsOf(dtype) ?? [];
  const value = BigInt(whole);
  return least === undefined || most === undefined || (value >= least && value <= most);
}

/** Parses an element of a typed constant, which may be text for numbers that JSON lacks. */
export function parseCell(text: string, dtype: string): Json | undefined {
  const short = text.trim();
  if (dtype === "string") return text;
  if (dtype === "bool")
    return /^(true|1)$/i.test(short) ? true : /^(false|0)$/i.test(short) ? false : undefined;
  if (dtype.startsWith("complex")) return COMPLEX.test(short) ? cell(short.toLowerCase()) : undefined;
  const whole = dtype.includes("int");
  if (/^[+-]?(inf|nan)$/i.test(short)) return whole ? undefined : short.toLowerCase().replace("+", "");
  if (whole) {
    const plain = short.replace(/^\+/, "");
    return /^-?\d+$/.test(plain) && within(dtype, plain) ? cell(plain) : undefined;
  }
  return Number.isFinite(Number(short)) && short !== "" ? Number(short) : undefined;
}

const PART = String.raw`(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf|nan)`;
const COMPLEX = new RegExp(`^[+-]?(?:${PART}|(?:${PART}[+-])?${PART}?j)$`, "i");

/** The real and imaginary part of a complex literal: 1-2j, 3, 0.5j. NaN if it is none. */
export function complexOf(text: string): [number, number] {
  const parts = text
    .replace(/[()\s]/g, "")
    .toLowerCase()
    .replace(/(?<!e|^)[+-]/g, " $&")
    .split(" ");
  const value = (part: string): number =>
    /^[+-]?$/.test(part) ? Number(`${part}1`) : Number(part.replace("inf", "Infinity"));
  const sum = (imaginary: boolean): number =>
    parts
      .filter((part) => part.endsWith("j") === imaginary)
      .reduce((total, part) => total + value(part.replace("j", "")), 0);
  return text.trim() === "" ? [Number.NaN, Number.NaN] : [sum(false), sum(true)];
}

/** A number if JavaScript has it exactly, else its text, as in page files. */
function cell(text: string): Json {
  const number = Number(text);
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number))
    ? number
    : text;
}
