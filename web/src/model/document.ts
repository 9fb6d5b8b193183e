/**
 * Documents, which are page files in memory, and the edits by which they change.
 *
 * Documents are copy-on-write: `apply` gives a new one that shares what did not change, and the inverse edits.
 * Undo, the journal of the server and what other tabs see all rest on this. The server applies the same edits in
 * studio/document.py: tests/conformance has edits with results and refusals that both sides are tested with.
 */

import type { Edit } from "../net/generated.ts";
import type { Frame, Monitor, PageDocument, TypedConstant } from "./generated.ts";
import type { Json, JsonObject } from "./json.ts";

export type { Edit } from "../net/generated.ts";
export type {
  Frame,
  Layout,
  Monitor,
  MonitorSource,
  Note,
  PageBlock,
  PageDocument,
  Port,
  Ports,
  RunSettings,
  TypedConstant,
} from "./generated.ts";
export type { Json, JsonObject } from "./json.ts";

export type Path = Edit["path"];

/** Translations of a text, by language code. */
type Translations = Readonly<Record<string, string>>;

/** The translation of a text, or the text itself if there is none. */
export function localizedText(
  language: string,
  text: string | undefined,
  others: Translations | undefined,
): string {
  return others?.[language] ?? text ?? "";
}

/** The translated title of a frame or monitor, or its name. */
export function localizedTitle(language: string, box: Frame | Monitor | undefined, name: string): string {
  return localizedText(language, box?.title, box?.titles) || name;
}

/** An edit that does not fit the document. */
export class EditError extends Error {}

export interface Applied {
  readonly document: PageDocument;
  /** The inverse edits, which undo them, in the order in which they are to be applied. */
  readonly inverse: Edit[];
}

/** The document after the edits, all or none of them: an edit that does not fit raises an EditError. */
export function apply(document: PageDocument, edits: readonly Edit[]): Applied {
  const changing = new Changing(document);
  const inverse: Edit[] = [];
  for (const edit of edits) inverse.push(changing.apply(edit));
  return { document: changing.document, inverse: inverse.reverse() };
}

/** Edits that turn one document into another, section by section. */
export function diff(before: PageDocument, after: PageDocument): Edit[] {
  const edits: Edit[] = Object.keys(before)
    .filter((key) => !Object.hasOwn(after, key))
    .map((key) => ({ path: [key] }));
  const keys = Object.keys(after);
  // From the end, so that the key before which one stands is there already.
  for (const [place, key] of [...keys.entries()].reverse()) {
    const value = after[key] as Json;
    const next = keys[place + 1];
    if (!Object.hasOwn(before, key))
      edits.push(next === undefined ? { path: [key], value } : { path: [key], value, before: next });
    else if (!sameJson(before[key] as Json, value)) edits.push({ path: [key], value });
  }
  return edits;
}

/** Whether two values are equal, with the same order of keys. What they share is not compared again. */
export function sameJson(one: Json, other: Json): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((each, place) => sameJson(each, other[place] as Json));
  if (!isObject(one) || !isObject(other)) return false;
  const [keys, others] = [Object.keys(one), Object.keys(other)];
  return (
    keys.length === others.length &&
    keys.every((key, place) => key === others[place] && sameJson(one[key] as Json, other[key] as Json))
  );
}

type Container = Record<string, Json> | Json[];

/** A document while edits are applied, copy-on-write: containers are copied once, and then changed in place. */
class Changing {
  private readonly own = new WeakSet<object>();

  constructor(public document: PageDocument) {}

  /** Applies an edit, and gives its inverse. */
  apply(edit: Edit): Edit {
    const last = edit.path.at(-1);
    if (last === undefined) throw new EditError("an edit must have a path");
    const parent = this.parentOf(edit.path);
    return Array.isArray(parent) ? applyToList(parent, last, edit) : applyToObject(parent, last, edit);
  }

  /** The object or list that has the end of a path, ready to be changed. */
  private parentOf(path: Path): Container {
    this.document = this.copyOf(this.document) as PageDocument;
    let parent = this.document as Container;
    for (const key of path.slice(0, -1)) {
      const child = this.copyOf(childOf(parent, key));
      (parent as Record<string | number, Json>)[key] = child;
      parent = child;
    }
    return parent;
  }

  private copyOf(value: object): Container {
    if (this.own.has(value)) return value as Container;
    const copy = Array.isArray(value) ? [...value] : { ...value };
    this.own.add(copy);
    return copy as Container;
  }
}

/** The object or list at a key of an object, or at an index of a list. */
function childOf(parent: Container, key: string | number): object {
  const found = Array.isArray(parent)
    ? isIndex(key, parent.length)
    : typeof key === "string" && Object.hasOwn(parent, key);
  if (!found) throw new EditError(`there is no ${JSON.stringify(key)} on its path`);
  const child = (parent as Record<string | number, Json>)[key] as Json;
  if (typeof child !== "object" || child === null)
    throw new EditError(`${JSON.stringify(key)} on its path is no object and no list`);
  return child;
}

function isIndex(key: string | number, length: number): key is number {
  return typeof key === "number" && Number.isInteger(key) && 0 <= key && key < length;
}

function applyToList(list: Json[], index: string | number, { path, value }: Edit): Edit {
  if (!isIndex(index, list.length + (value === undefined ? 0 : 1)))
    throw new EditError(`a list of ${list.length} items has no index ${JSON.stringify(index)}`);
  if (value === undefined) return { path, value: list.splice(index, 1)[0] as Json };
  list.splice(index, 0, value);
  return { path };
}

function applyToObject(parent: Record<string, Json>, key: string | number, edit: Edit): Edit {
  const { path, value } = edit;
  if (typeof key !== "string") throw new EditError(`an object has keys, not indices; got ${key}`);
  // An assignment to it would change the object's prototype.
  if (key === "__proto__") throw new EditError('"__proto__" cannot be a key');
  if (value === undefined) return remove(parent, key, path);
  if (Object.hasOwn(parent, key)) {
    const old = parent[key] as Json;
    parent[key] = value;
    return { path, value: old };
  }
  insert(parent, key, value, edit.before);
  return { path };
}

function remove(parent: Record<string, Json>, key: string, path: Path): Edit {
  if (!Object.hasOwn(parent, key)) throw new EditError(`there is no ${JSON.stringify(key)} to remove`);
  const keys = Object.keys(parent);
  const before = keys[keys.indexOf(key) + 1];
  const value = parent[key] as Json;
  delete parent[key];
  return before === undefined ? { path, value } : { path, value, before };
}

/** Puts a new key before another one. The keys behind it are taken out and put back, so that they come after it. */
function insert(parent: Record<string, Json>, key: string, value: Json, before: string | undefined): void {
  const behind: [string, Json][] = [];
  if (before !== undefined && Object.hasOwn(parent, before)) {
    const entries = Object.entries(parent);
    behind.push(...entries.slice(Object.keys(parent).indexOf(before)));
    for (const [each] of behind) delete parent[each];
  }
  parent[key] = value;
  for (const [each, old] of behind)
    Object.defineProperty(parent, each, {
      value: old,
      configurable: true,
      enumerable: true,
      writable: true,
    });
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isTyped(value: Json | undefined): value is TypedConstant {
  return isObject(value) && ("dtype" in value || "value" in value || "file" in value);
}

// -- wires ------------------------------------------------------------------------------------

/** An output: a block and a pin; without `pin` the block's first output. */
export interface OutputRef {
  readonly block: string;
  readonly pin?: string;
  readonly index?: number;
}

/** Parses `"block:pin"`, `"block:pin[2]"` or `"block"`. */
export function parseReference(text: string): OutputRef {
  const colon = text.indexOf(":");
  if (colon < 0) return { block: text };
  const block = text.slice(0, colon);
  const found = /^(.*)\[(\d+)\]$/.exec(text.slice(colon + 1));
  if (!found) return { block, pin: text.slice(colon + 1) };
  return { block, pin: found[1] as string, index: Number(found[2]) };
}

export function referenceText(from: OutputRef): string {
  if (from.pin === undefined) return from.block;
  return from.index === undefined ? `${from.block}:${from.pin}` : `${from.block}:${from.pin}[${from.index}]`;
}

/** An input: a pin, and the index if it is a list. The pin `initial` is the initial value of a variable. */
export interface InputRef {
  readonly block: string;
  readonly pin: string;
  readonly index?: number;
}

export const INITIAL = "initial";

export function inputKey(pin: string, index?: number): string {
  return index === undefined ? pin : `${pin}[${index}]`;
}
