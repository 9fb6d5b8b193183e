/**
 * The page's file as it is in memory, and the one way in which it changes.
 *
 * A document is never changed in place: `apply` gives a new one that shares what stayed the same, and the
 * edits that lead back. Undoing, the journal of the draft and what other tabs see all rest on this.
 */

import type { Edit } from "../net/generated.ts";
import type { Frame, Monitor, PageDocument, TypedConstant } from "./generated.ts";
import type { Json, JsonObject } from "./json.ts";

export type { Edit } from "../net/generated.ts";
export type {
  Frame,
  Layout,
  Monitor,
  Note,
  PageBlock,
  PageDocument,
  Port,
  Ports,
  Run as RunSettings,
  Shown,
  TypedConstant,
} from "./generated.ts";
export type { Json, JsonObject } from "./json.ts";

export type Path = Edit["path"];

/** A text in other languages, by their codes. */
type InLanguages = Readonly<Record<string, string>>;

/** A text in the language of the reader, or as it is where it is not in that language. */
export function inLanguage(
  language: string,
  text: string | undefined,
  others: InLanguages | undefined,
): string {
  return others?.[language] ?? text ?? "";
}

/** What a frame or a monitor is called in the language of the reader. */
export function titleIn(language: string, box: Frame | Monitor | undefined, name: string): string {
  return inLanguage(language, box?.title, box?.titles) || name;
}

/** An edit that does not fit the document: its path leads nowhere. */
export class EditError extends Error {
  constructor(
    readonly path: Path,
    why: string,
  ) {
    super(`${path.join(" / ")}: ${why}`);
  }
}

export interface Applied {
  readonly document: PageDocument;
  /** The edits that lead back, in the order in which they are to be applied. */
  readonly inverse: Edit[];
}

/** The document after the edits, all or none of them: an edit that does not fit raises an EditError. */
export function apply(document: PageDocument, edits: readonly Edit[]): Applied {
  const changing = new Changing(document);
  const inverse: Edit[] = [];
  for (const edit of edits) inverse.push(changing.apply(edit));
  return { document: changing.document, inverse: inverse.reverse() };
}

/** Edits that make one document of another, section by section. */
export function between(before: PageDocument, after: PageDocument): Edit[] {
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
    else if (JSON.stringify(before[key]) !== JSON.stringify(value)) edits.push({ path: [key], value });
  }
  return edits;
}

type Changeable = Record<string, Json> | Json[];

/** A document while edits are applied: parts are copied once, and then changed in place. */
class Changing {
  private readonly own = new WeakSet<object>();

  constructor(public document: PageDocument) {}

  /** Applies an edit, and gives the one that undoes it. */
  apply(edit: Edit): Edit {
    const { path } = edit;
    const last = path.at(-1);
    if (last === undefined) throw new EditError(path, "an edit must have a path");
    const parent = this.parentOf(path);
    if (Array.isArray(parent)) return changeList(parent, last, edit);
    if (typeof last !== "string") throw new EditError(path, "an object has keys, not places");
    if (last === "__proto__") throw new EditError(path, "this name cannot be used");
    if (edit.value === undefined) return this.remove(parent, last, edit);
    if (Object.hasOwn(parent, last)) {
      const old = parent[last] as Json;
      parent[last] = edit.value;
      return { path, value: old };
    }
    this.insert(parent, last, edit);
    return { path };
  }

  private remove(parent: Record<string, Json>, key: string, edit: Edit): Edit {
    if (!Object.hasOwn(parent, key)) throw new EditError(edit.path, "there is nothing to take away");
    const keys = Object.keys(parent);
    const next = keys[keys.indexOf(key) + 1];
    const old = parent[key] as Json;
    delete parent[key];
    return next === undefined
      ? { path: edit.path, value: old }
      : { path: edit.path, value: old, before: next };
  }

  /** Puts a new key before another one. The keys behind it are taken out and put back, so that it stands there. */
  private insert(parent: Record<string, Json>, key: string, edit: Edit): void {
    const behind: [string, Json][] = [];
    if (edit.before !== undefined && Object.hasOwn(parent, edit.before)) {
      const keys = Object.keys(parent);
      for (const each of keys.slice(keys.indexOf(edit.before))) {
        behind.push([each, parent[each] as Json]);
        delete parent[each];
      }
    }
    parent[key] = edit.value as Json;
    for (const [each, value] of behind) parent[each] = value;
  }

  /** The object or list that holds the end of a path, ready to be changed. */
  private parentOf(path: Path): Changeable {
    this.document = this.changeable(this.document, path) as PageDocument;
    let here: Changeable = this.document as Record<string, Json>;
    for (const step of path.slice(0, -1)) {
      const next: Json | undefined = Array.isArray(here)
        ? here[step as number]
        : typeof step === "string" && Object.hasOwn(here, step)
          ? here[step]
          : undefined;
      const own = this.changeable(next, path);
      (here as Record<string | number, Json>)[step] = own as Json;
      here = own;
    }
    return here;
  }

  private changeable(value: Json | undefined, path: Path): Changeable {
    if (typeof value !== "object" || value === null) throw new EditError(path, "its path leads nowhere");
    if (this.own.has(value)) return value as Changeable;
    const copy = Array.isArray(value) ? [...value] : { ...value };
    this.own.add(copy);
    return copy as Changeable;
  }
}

function changeList(list: Json[], place: string | number, edit: Edit): Edit {
  const { path, value } = edit;
  const most = value === undefined ? list.length - 1 : list.length;
  if (typeof place !== "number" || !Number.isInteger(place) || place < 0 || place > most)
    throw new EditError(path, "there is no such place in the list");
  if (value !== undefined) {
    list.splice(place, 0, value);
    return { path };
  }
  return { path, value: list.splice(place, 1)[0] as Json };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isTyped(value: Json | undefined): value is TypedConstant {
  return isObject(value) && ("dtype" in value || "value" in value || "file" in value);
}

// -- wires ------------------------------------------------------------------------------------

/** The end of a wire at an output. Without `pin` it is the block's first output. */
export interface OutputRef {
  readonly block: string;
  readonly pin?: string;
  readonly index?: number;
}

/** Reads `"block:pin"`, `"block:pin[2]"` or `"block"`. */
export function readWire(text: string): OutputRef {
  const colon = text.indexOf(":");
  if (colon < 0) return { block: text };
  const block = text.slice(0, colon);
  const found = /^(.*)\[(\d+)\]$/.exec(text.slice(colon + 1));
  if (!found) return { block, pin: text.slice(colon + 1) };
  return { block, pin: found[1] as string, index: Number(found[2]) };
}

export function wireText(from: OutputRef): string {
  if (from.pin === undefined) return from.block;
  return from.index === undefined ? `${from.block}:${from.pin}` : `${from.block}:${from.pin}[${from.index}]`;
}

/** An input: a pin's name, and the place in it if it is a list. `initial` is what a variable starts from. */
export interface InputRef {
  readonly block: string;
  readonly pin: string;
  readonly index?: number;
}

export const INITIAL = "initial";

export function inputKey(pin: string, index?: number): string {
  return index === undefined ? pin : `${pin}[${index}]`;
}
