/**
 * Copy and paste. The clipboard holds the JSON text of a page with the selection, so that it can be pasted into any
 * program, and the text of a page file can be pasted here.
 */

import { type AddAction, type Item, item, namesOf } from "./action.ts";
import {
  INITIAL,
  isObject,
  type Json,
  type JsonObject,
  type PageBlock,
  type PageDocument,
  parseReference,
  referenceText,
} from "./document.ts";
import { Draft } from "./draft.ts";
import { actionOf } from "./edit-blocks.ts";
import { withFrameContents } from "./edit-layout.ts";
import { parseExact, stringifyExact, unmarkNumbers } from "./exact-json.ts";
import { FORMAT } from "./generated.ts";
import { blockRects, bounds, boxRect, type Point, type Rect, rounded, snapToGrid } from "./geometry.ts";
import { graphOf } from "./graph.ts";
import { uniqueName } from "./names.ts";
import type { Ops } from "./ops.ts";
import { removeInput } from "./references.ts";

const BOX_SECTIONS = ["frames", "notes", "monitors"] as const;

/** The selection as a page: blocks with their wires, frames, notes, monitors, and their layout. */
export function extractClip(
  document: PageDocument,
  items: Iterable<Item>,
  places: ReadonlyMap<string, Rect>,
): PageDocument {
  const all = withFrameContents(document, items);
  const blocks = new Set(namesOf(all, "block"));
  const clip: Record<string, Json> = { format: FORMAT, blocks: chosen(document.blocks, blocks) };
  const layout: Record<string, Json> = {
    blocks: Object.fromEntries([...blocks].map((name) => [name, placeOf(places.get(name))])),
  };
  for (const section of BOX_SECTIONS) {
    const names = new Set(namesOf(all, section.slice(0, -1) as "frame" | "note" | "monitor"));
    if (!names.size) continue;
    clip[section] = chosen(document[section], names);
    layout[section] = Object.fromEntries(
      [...names].map((name) => {
        const { x, y, width, height } = boxRect(document, section, name, places);
        return [name, [x, y, width, height]];
      }),
    );
  }
  const bends = Object.entries(document.layout?.wires ?? {}).filter(([id]) =>
    blocks.has(parseReference(id).block),
  );
  if (bends.length) layout.wires = Object.fromEntries(bends) as Json;
  return { ...clip, layout } as PageDocument;
}

function placeOf(rect: Rect | undefined): number[] {
  return [rounded(rect?.x ?? 0), rounded(rect?.y ?? 0)];
}

/** The entries with these names, in document order. */
function chosen(section: Readonly<Record<string, Json>> | undefined, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(section ?? {}).filter(([name]) => names.has(name)));
}

export function copyText(
  document: PageDocument,
  items: Iterable<Item>,
  places: ReadonlyMap<string, Rect>,
): string {
  return stringifyExact(extractClip(document, items, places));
}

/** Parses the text of a page; undefined if it is not one. */
export function parseClip(text: string): PageDocument | undefined {
  try {
    const value = unmarkNumbers(parseExact(text), []);
    if (!isObject(value) || !isObject(value.blocks)) return undefined;
    const sound = Object.values(value.blocks).every(
      (block) => isObject(block) && typeof block.op === "string",
    );
    return sound ? (value as PageDocument) : undefined;
  } catch {
    return undefined;
  }
}

/** The clip with a position for every block: pages written by hand may lack some. */
export function withLayout(clip: PageDocument, ops: Ops): PageDocument {
  const places = [...blockRects(graphOf(clip, ops))].map(([name, { x, y }]) => [name, [x, y]] as const);
  return { ...clip, layout: { ...clip.layout, blocks: Object.fromEntries(places) } };
}

export interface PasteOptions {
  /** The position of the top left corner; next to the originals by default. */
  readonly at?: Point;
  /** Whether wires from blocks that were not copied are connected to the blocks of this page with the same names. */
  readonly keepWires?: boolean;
  readonly label?: "paste" | "duplicate";
}

/** Adds the clip, with names that are free. */
export function paste(document: PageDocument, clip: PageDocument, how: PasteOptions = {}): AddAction {
  const draft = new Draft(document);
  const by = offset(document, clip, how.at);
  const names = freshNames(draft.blocks, clip.blocks);
  const added: Item[] = [];
  for (const [old, block] of Object.entries(clip.blocks ?? {})) {
    const name = names.get(old) as string;
    draft.put(["blocks", name], renamed(block, names));
    const [x = 0, y = 0] = clip.layout?.blocks?.[old] ?? [];
    draft.put(["layout", "blocks", name], [rounded(x + by.x), rounded(y + by.y)]);
    added.push(item("block", name));
  }
  for (const section of BOX_SECTIONS) added.push(...pasteBoxes(draft, clip, section, names, by));
  pasteBends(draft, clip, names, by);
  removeDanglingWires(
    draft,
    clip,
    names,
    (block) => !!how.keepWires && Object.hasOwn(document.blocks ?? {}, block),
  );
  return { ...actionOf(draft, { kind: how.label ?? "paste", count: added.length }), added };
}

export function duplicate(
  document: PageDocument,
  items: Iterable<Item>,
  places: ReadonlyMap<string, Rect>,
): AddAction {
  return paste(document, extractClip(document, items, places), { keepWires: true, label: "duplicate" });
}

function offset(document: PageDocument, clip: PageDocument, at?: Point): Point {
  const rects = [
    ...Object.values(clip.layout?.blocks ?? {}).map(([x = 0, y = 0]) => ({ x, y, width: 0, height: 0 })),
    ...BOX_SECTIONS.flatMap((section) =>
      Object.keys(clip[section] ?? {}).map((name) => boxRect(clip, section, name)),
    ),
  ];
  const around = bounds(rects) ?? { x: 0, y: 0, width: 0, height: 0 };
  if (at) return { x: snapToGrid(at.x) - around.x, y: snapToGrid(at.y) - around.y };
  // Repeated pastes are offset, so that copies do not cover each other.
  const taken = new Set(Object.values(document.layout?.blocks ?? {}).map(String));
  const starts = Object.values(clip.layout?.blocks ?? {});
  let step = 0;
  while (
    starts.some(([x = 0, y = 0]) => taken.has(String([rounded(x + step), rounded(y + step)]))) ||
    step === 0
  )
    step += 32;
  return { x: step, y: step };
}

function freshNames(
  taken: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>> | undefined,
): Map<string, string> {
  const used = new Set(Object.keys(taken));
  const names = new Map<string, string>();
  for (const name of Object.keys(wanted ?? {})) {
    const fresh = uniqueName(name, (each) => used.has(each));
    used.add(fresh);
    names.set(name, fresh);
  }
  return names;
}

/** A copied block, wired to the copies of its sources. */
function renamed(block: PageBlock, names: ReadonlyMap<string, string>): PageBlock {
  const result: Record<string, Json> = { ...block } as Record<string, Json>;
  if (block.in) {
    const inputs = Object.entries(block.in).map(([pin, value]) => [pin, renamedInput(value, names)]);
    result.in = Object.fromEntries(inputs) as Json;
  }
  if (block.initial !== undefined) result[INITIAL] = renamedInput(block.initial, names);
  if (block.after) result.after = block.after.map((name) => names.get(name) ?? name);
  return result as PageBlock;
}

function renamedInput(value: Json, names: ReadonlyMap<string, string>): Json {
  if (Array.isArray(value))
    return value.map((each) => (typeof each === "string" ? renamedInput(each, names) : each));
  if (typeof value !== "string") return value;
  const from = parseReference(value);
  return referenceText({ ...from, block: names.get(from.block) ?? from.block });
}

/** Removes wires of copies whose source was not copied, unless it is kept. */
function removeDanglingWires(
  draft: Draft,
  clip: PageDocument,
  names: ReadonlyMap<string, string>,
  kept: (block: string) => boolean,
): void {
  const isLoose = (value: Json): boolean => {
    const block = typeof value === "string" && parseReference(value).block;
    return typeof block === "string" && !names.has(block) && !kept(block);
  };
  for (const [old, { in: inputs, initial, after }] of Object.entries(clip.blocks ?? {})) {
    const block = names.get(old) as string;
    for (const [pin, value] of Object.entries(inputs ?? {})) {
      if (isLoose(value)) removeInput(draft, { block, pin });
      else if (Array.isArray(value)) {
        for (let index = value.length - 1; index >= 0; index--) {
          if (isLoose(value[index] as Json)) removeInput(draft, { block, pin, index });
        }
      }
    }
    if (initial !== undefined && isLoose(initial)) removeInput(draft, { block, pin: INITIAL });
    if (after?.some(isLoose)) {
      const left = after.filter((name) => !isLoose(name)).map((name) => names.get(name) ?? name);
      draft.putList(["blocks", block, "after"], left);
    }
  }
}

function pasteBoxes(
  draft: Draft,
  clip: PageDocument,
  section: (typeof BOX_SECTIONS)[number],
  blocks: ReadonlyMap<string, string>,
  by: Point,
): Item[] {
  const names = freshNames(draft.document[section] ?? {}, clip[section]);
  const added: Item[] = [];
  for (const [old, value] of Object.entries(clip[section] ?? {})) {
    const name = names.get(old) as string;
    const { x, y, width, height } = boxRect(clip, section, old);
    draft.put([section, name], renamedInside(value as JsonObject, blocks));
    draft.put(["layout", section, name], [rounded(x + by.x), rounded(y + by.y), width, height]);
    added.push(item(section.slice(0, -1) as "frame" | "note" | "monitor", name));
  }
  return added;
}

/** A copied frame or monitor, with the blocks in it renamed. */
function renamedInside(value: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  const result: Record<string, Json> = { ...value } as Record<string, Json>;
  if (Array.isArray(value.blocks)) {
    result.blocks = (value.blocks as string[])
      .map((name) => names.get(name))
      .filter((name) => name !== undefined);
  }
  if (Array.isArray(value.shows)) {
    result.shows = (value.shows as JsonObject[]).map((shown) => {
      const from = parseReference(String(shown.pin));
      return { ...shown, pin: referenceText({ ...from, block: names.get(from.block) ?? from.block }) };
    });
  }
  return result;
}

function pasteBends(draft: Draft, clip: PageDocument, names: ReadonlyMap<string, string>, by: Point): void {
  for (const [id, points] of Object.entries(clip.layout?.wires ?? {})) {
    const { block } = parseReference(id);
    const name = names.get(block);
    if (name === undefined) continue;
    const moved = points.map(([x = 0, y = 0]) => [rounded(x + by.x), rounded(y + by.y)]);
    draft.put(["layout", "wires", name + id.slice(block.length)], moved);
  }
}
