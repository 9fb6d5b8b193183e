/** The working copy of a document in an action: each change is applied at once and recorded as an edit. */

import {
  apply,
  type Edit,
  type Frame,
  isObject,
  type Json,
  type PageBlock,
  type PageDocument,
  type Path,
} from "./document.ts";

/** The order of fields in a page file; unknown fields come last. */
const ORDER: readonly (readonly [RegExp, readonly string[]])[] = [
  [
    /^$/,
    [
      "format",
      "title",
      "titles",
      "about",
      "abouts",
      "blocks",
      "frames",
      "notes",
      "monitors",
      "run",
      "ports",
      "layout",
    ],
  ],
  [/^blocks\/[^/]*$/, ["op", "version", "about", "in", "initial", "attrs", "after"]],
  [/^frames\/[^/]*$/, ["title", "titles", "blocks"]],
  [/^notes\/[^/]*$/, ["text", "texts"]],
  [/^monitors\/[^/]*$/, ["kind", "shows", "title", "titles", "low", "high", "steps", "axes"]],
  [/^run$/, ["fetch", "targets", "steps", "until", "seed", "feeds"]],
  [/^ports$/, ["inputs", "outputs"]],
  [/^layout$/, ["blocks", "wires", "frames", "notes", "monitors"]],
];

export class Draft {
  readonly edits: Edit[] = [];

  constructor(public document: PageDocument) {}

  apply(...edits: readonly Edit[]): void {
    this.document = apply(this.document, edits).document;
    this.edits.push(...edits);
  }

  /** Writes a text, or its translation if there is one in this language. */
  putText(path: Path, field: "text" | "title" | "about", text: string, language: string): void {
    const translated = this.get([...path, `${field}s`, language]) !== undefined;
    const place = translated ? [...path, `${field}s`, language] : [...path, field];
    if (text || translated) this.put(place, text);
    else this.remove(place);
  }

  get(path: Path): Json | undefined {
    let here: Json | undefined = this.document;
    for (const step of path) {
      if (Array.isArray(here)) here = here[step as number];
      else here = isObject(here) && Object.hasOwn(here, step as string) ? here[step as string] : undefined;
    }
    return here;
  }

  /** Sets a value, and creates the objects on its path. An equal value is not an edit. */
  put(path: Path, value: Json, before?: string): void {
    const old = this.get(path);
    if (old !== undefined && same(old, value)) return;
    let depth = path.length;
    while (depth > 1 && !isObject(this.get(path.slice(0, depth - 1)))) depth--;
    const at = path.slice(0, depth);
    const made = path.slice(depth).reduceRight<Json>((inside, key) => ({ [key as string]: inside }), value);
    const behind = depth === path.length && before !== undefined ? before : this.nextInOrder(at);
    this.apply(behind === undefined ? { path: at, value: made } : { path: at, value: made, before: behind });
  }

  /** Sets many entries of one object at once, so that moving a thousand blocks copies their positions once. */
  putEach(path: Path, entries: Iterable<readonly [string, Json]>): void {
    const left = [...entries];
    while (left.length && !isObject(this.get(path)))
      this.put([...path, left[0]?.[0] as string], left.shift()?.[1] as Json);
    const holder = this.get(path) as Readonly<Record<string, Json>>;
    const changed = left.filter(
      ([key, value]) => !Object.hasOwn(holder, key) || !same(holder[key] as Json, value),
    );
    if (changed.length) this.apply(...changed.map(([key, value]) => ({ path: [...path, key], value })));
  }

  /** Removes a value, if there is one, with parents that become empty. */
  remove(path: Path): void {
    if (this.get(path) === undefined) return;
    let end = path.length;
    while (end > 1 && this.isOnlyEntry(path.slice(0, end))) end--;
    this.apply({ path: path.slice(0, end) });
  }

  /** Sets a list, or removes it if it is empty. */
  putList(path: Path, list: readonly Json[]): void {
    if (list.length) this.put(path, list);
    else this.remove(path);
  }

  /** Whether this is the only entry of an object that can be removed with it. */
  private isOnlyEntry(path: Path): boolean {
    const parent = this.get(path.slice(0, -1));
    const named = path.length === 3 && path[0] !== "layout" && path[0] !== "run" && path[0] !== "ports";
    const stays = (path.length === 2 && path[0] === "blocks") || named;
    return !stays && isObject(parent) && Object.keys(parent).length === 1;
  }

  /** The key before which a new field is inserted, by ORDER. */
  private nextInOrder(path: Path): string | undefined {
    const parent = path.slice(0, -1);
    const order = ORDER.find(([where]) =>
      where.test(parent.map((key) => String(key).replaceAll("/", "_")).join("/")),
    )?.[1];
    const last = String(path.at(-1));
    const place = order?.indexOf(last) ?? -1;
    const holder = this.get(parent);
    if (!order || place < 0 || !isObject(holder) || Object.hasOwn(holder, last)) return undefined;
    return order.slice(place + 1).find((key) => Object.hasOwn(holder, key));
  }

  get blocks(): Readonly<Record<string, PageBlock>> {
    return this.document.blocks ?? {};
  }

  get frames(): Readonly<Record<string, Frame>> {
    return this.document.frames ?? {};
  }
}

/** Whether two values have the same JSON. */
export function same(a: Json, b: Json): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
