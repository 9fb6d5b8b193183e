/**
 * JSON with exact numbers.
 *
 * An input of 1.0 is a float32 and one of 1 an int32, but JSON.parse gives 1 for both, and rounds integers beyond
 * 2^53. Where that matters, such a number is kept in memory as `{ $number: "1.0" }`.
 */

import { type Edit, INITIAL, isObject, isTyped, type Json, type JsonObject, type Path } from "./document.ts";

export interface ExactNumber extends JsonObject {
  readonly $number: string;
}

const MARK = "$number";
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARKED = /\{"\$number":"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"\}/g;

export function isExact(value: unknown): value is ExactNumber {
  return isObject(value) && typeof value[MARK] === "string";
}

/** Whether a number literal changes in a round trip through JSON.parse and JSON.stringify. */
function losesPrecision(token: string): boolean {
  const number = Number(token);
  const whole = !/[.eE]/.test(token);
  return whole ? !Number.isSafeInteger(number) : Number.isInteger(number);
}

/** A number, marked if JavaScript would lose how it was written. */
export function parseNumber(token: string): number | ExactNumber {
  return losesPrecision(token) ? { [MARK]: token } : Number(token);
}

/** JSON.parse that marks the numbers it would lose. */
export function parseExact(text: string): Json {
  const marked = text.replace(TOKENS, (token) =>
    token.startsWith('"') || !losesPrecision(token) ? token : `{"${MARK}":"${token}"}`,
  );
  return JSON.parse(marked) as Json;
}

export function stringifyExact(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(MARK) ? text.replace(MARKED, "$1") : text;
}

/**
 * Removes marks where 1.0 and 1 mean the same: everywhere but at numbers without a dtype, which are inputs of blocks,
 * initial values of variables and feeds. Integers beyond 2^53, such as seeds, keep them. `path` is the path of the
 * value in the document.
 */
export function unmarkNumbers(value: Json, path: Path): Json {
  if (isExact(value)) return keepsMark(value.$number, path) ? value : Number(value.$number);
  if (Array.isArray(value)) return value.map((each, place) => unmarkNumbers(each, [...path, place]));
  if (!isObject(value)) return value;
  // Attributes may be named dtype or value, too.
  const typed = isTyped(value) && path.at(-1) !== "attrs";
  const inside = !typed ? path : /^u?int/.test(value.dtype ?? "") ? BLOCKS : [];
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, unmarkNumbers(each as Json, [...inside, key])]),
  );
}

const BLOCKS: Path = ["blocks"];

function keepsMark(token: string, path: Path): boolean {
  return untyped(path) || (path[0] === "blocks" && !/[.eE]/.test(token));
}

function untyped(path: Path): boolean {
  const [section, , field] = path;
  return (
    (section === "blocks" && (field === "in" || field === INITIAL)) ||
    (section === "run" && path[1] === "feeds")
  );
}

/** Parses a message of the server. */
export function parseMessage(text: string): Json {
  if (!/^\{"kind":\s*"(opened|changed)"/.test(text)) return JSON.parse(text) as Json;
  const message = parseExact(text) as JsonObject;
  if (message.kind === "opened") {
    const documents = (["document", "saved"] as const)
      .filter((name) => message[name] !== undefined)
      .map((name) => [name, unmarkNumbers(message[name] as Json, [])]);
    return { ...withoutMarks(message), ...Object.fromEntries(documents) };
  }
  const edits = (message.edits as unknown as Edit[]).map((edit) =>
    edit.value === undefined ? edit : { ...edit, value: unmarkNumbers(edit.value, edit.path) },
  );
  return { ...withoutMarks(message), edits: edits as unknown as Json };
}

/** The fields of a message outside of documents and edits. */
function withoutMarks({ document: _, saved: __, edits: ___, ...rest }: JsonObject): JsonObject {
  return unmarkNumbers(rest, []) as JsonObject;
}
