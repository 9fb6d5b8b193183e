/** Formats and parses numbers, lists and shapes of attributes. */

import type { Json } from "../../model/document.ts";
import { parseWholeNumbers } from "../../model/whole-numbers.ts";
import type { ViewStrings } from "../../text/view.en.ts";
import type { ParseResult } from "./ValidatedField.tsx";

/** Formats a number; those that JSON lacks are {"number": "inf"} in pages. */
export function formatNumber(value: Json | undefined): string {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    const named = value as { number?: unknown; $number?: unknown };
    return String(named.number ?? named.$number ?? "");
  }
  return value === undefined || value === null ? "" : String(value);
}

export function parseNumber(text: string, whole: boolean, t: ViewStrings): ParseResult<Json> {
  const trimmed = text.trim().toLowerCase();
  if (!whole && /^([+-]?inf|nan)$/.test(trimmed)) return { value: { number: trimmed.replace("+", "") } };
  const number = Number(trimmed);
  if (trimmed === "" || !Number.isFinite(number)) return { error: t.aNumber };
  if (whole && !Number.isInteger(number)) return { error: t.aWholeNumber };
  const long = /^-?\d+$/.test(trimmed) && !Number.isSafeInteger(number);
  return { value: whole && long ? { number: trimmed } : number };
}

/** Formats a shape: "?" if it is unknown, "[]" for a scalar. */
export function formatShape(value: Json): string {
  return value === null ? "?" : formatList(value) || "[]";
}

export function formatList(value: Json): string {
  if (value === null) return "";
  if (!Array.isArray(value)) return typeof value === "string" ? value : JSON.stringify(value);
  if (value.some(Array.isArray)) return JSON.stringify(value);
  return value.map((each) => (each === null ? "?" : String(each))).join(", ");
}

/** Parses a list; undefined if it is invalid. */
export function parseList(text: string, kind: string): Json | undefined {
  const trimmed = text.trim();
  const whole =
    kind === "floats" || kind === "dtypes" ? undefined : parseWholeNumbers(trimmed, kind === "shape");
  if (whole !== undefined && trimmed !== "?") return whole;
  if (trimmed.startsWith("[") || trimmed.startsWith("{") || trimmed.startsWith('"')) {
    try {
      return JSON.parse(trimmed.replace(/\?/g, "null")) as Json;
    } catch {
      return undefined;
    }
  }
  if (kind === "shape" && trimmed === "?") return null;
  const parts = trimmed.split(/[\s,]+/).filter((part) => part !== "");
  if (kind === "dtypes") return parts;
  const numbers = parts.map(Number);
  return kind === "floats" && numbers.every(Number.isFinite) ? numbers : undefined;
}
