/** Actions on the layout (move, resize, align, distribute), and on frames, notes and monitors. */

import { type Action, type AddAction, type Item, type ItemKind, item, parseItem } from "./action.ts";
import type { Frame, Json, Monitor, MonitorSource, Note, PageDocument } from "./document.ts";
import { Draft } from "./draft.ts";
import { actionOf } from "./edit-blocks.ts";
import {
  type BoxSection,
  bounds,
  boxRect,
  frameAround,
  GAP,
  isOnPage,
  type Point,
  type Rect,
  rounded,
} from "./geometry.ts";
import type { Graph } from "./graph.ts";
import type { LayoutResult } from "./layout.ts";
import { uniqueName } from "./names.ts";

const SECTIONS = { block: "blocks", frame: "frames", note: "notes", monitor: "monitors" } as const;

type PlacedKind = keyof typeof SECTIONS;

function hasPosition(kind: ItemKind): kind is PlacedKind {
  return kind !== "wire";
}

/** The rectangle of each selected item. */
export function rectsOf(
  document: PageDocument,
  items: Iterable<Item>,
  blocks: ReadonlyMap<string, Rect>,
): Map<Item, Rect> {
  const rects = new Map<Item, Rect>();
  for (const each of items) {
    const { kind, name } = parseItem(each);
    const rect =
      kind === "block"
        ? blocks.get(name)
        : hasPosition(kind)
          ? boxRect(document, SECTIONS[kind] as BoxSection, name, blocks)
          : undefined;
    if (rect) rects.set(each, rect);
  }
  return rects;
}

/** A selection with the blocks inside of selected frames. */
export function withFrameContents(document: PageDocument, items: Iterable<Item>): Set<Item> {
  const all = new Set(items);
  for (const each of [...all]) {
    const { kind, name } = parseItem(each);
    if (kind === "frame")
      for (const block of document.frames?.[name]?.blocks ?? []) all.add(item("block", block));
  }
  return all;
}

/** Moves and resizes items to these rectangles. */
export function moveTo(
  document: PageDocument,
  rects: ReadonlyMap<Item, Rect>,
  label: Action["label"] = { kind: "move", count: rects.size },
): Action {
  const draft = new Draft(document);
  putRects(draft, rects);
  return actionOf(draft, label);
}

function putRects(draft: Draft, rects: ReadonlyMap<Item, Rect>): void {
  const sections: Record<PlacedKind, [string, Json][]> = { block: [], frame: [], note: [], monitor: [] };
  for (const [each, rect] of rects) {
    const { kind, name } = parseItem(each);
    const at = [rounded(rect.x), rounded(rect.y)];
    if (hasPosition(kind))
      sections[kind].push([name, kind === "block" ? at : [...at, rounded(rect.width), rounded(rect.height)]]);
  }
  for (const kind of Object.keys(SECTIONS) as PlacedKind[]) {
    if (sections[kind].length) draft.putEach(["layout", SECTIONS[kind]], sections[kind]);
  }
}

/** Moves items, with the contents of frames, by an offset. */
export function moveBy(
  document: PageDocument,
  items: Iterable<Item>,
  blocks: ReadonlyMap<string, Rect>,
  by: Point,
): Action {
  const rects = rectsOf(document, withFrameContents(document, items), blocks);
  const moved = new Map(
    [...rects].map(([each, rect]) => [each, { ...rect, x: rect.x + by.x, y: rect.y + by.y }]),
  );
  return moveTo(document, moved);
}

export function resize(document: PageDocument, which: Item, rect: Rect): Action {
  return moveTo(document, new Map([[which, rect]]), { kind: "resize", name: parseItem(which).name });
}

export type Edge = "left" | "center" | "right" | "top" | "middle" | "bottom";

/** Aligns items at an edge or the centre of their bounding box. */
export function align(document: PageDocument, rects: ReadonlyMap<Item, Rect>, edge: Edge): Action {
  const around = bounds(rects.values()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const moved = [...rects].map(([each, rect]): [Item, Rect] => [each, aligned(rect, around, edge)]);
  return moveTo(document, new Map(moved), { kind: "align", count: rects.size });
}

function aligned(rect: Rect, around: Rect, edge: Edge): Rect {
  switch (edge) {
    case "left":
      return { ...rect, x: around.x };
    case "center":
      return { ...rect, x: around.x + (around.width - rect.width) / 2 };
    case "right":
      return { ...rect, x: around.x + around.width - rect.width };
    case "top":
      return { ...rect, y: around.y };
    case "middle":
      return { ...rect, y: around.y + (around.height - rect.height) / 2 };
    case "bottom":
      return { ...rect, y: around.y + around.height - rect.height };
  }
}

/** Equalizes the gaps between items; the outer ones stay. */
export function distribute(document: PageDocument, rects: ReadonlyMap<Item, Rect>, axis: "x" | "y"): Action {
  const size = axis === "x" ? "width" : "height";
  const sorted = [...rects].sort(([, a], [, b]) => a[axis] - b[axis]);
  const around = bounds(rects.values());
  const moved = new Map<Item, Rect>();
  if (around && sorted.length > 2) {
    const gap = (around[size] - sorted.reduce((sum, [, rect]) => sum + rect[size], 0)) / (sorted.length - 1);
    let at = around[axis];
    for (const [each, rect] of sorted) {
      moved.set(each, { ...rect, [axis]: at });
      at += rect[size] + gap;
    }
  }
  return moveTo(document, moved, { kind: "distribute", count: rects.size });
}

/**
 * Applies a computed layout of blocks and wire bends; `before` has the old rectangles. If all blocks were laid out,
 * notes and monitors move out of their way.
 */
export function applyLayout(
  { document, wires }: Graph,
  { places, bends }: LayoutResult,
  before: ReadonlyMap<string, Rect>,
): Action {
  const draft = new Draft(document);
  const boxes = rectsOf(document, notesAndMonitors(document), before);
  putRects(draft, new Map([...places].map(([name, rect]) => [item("block", name), rect])));
  for (const id of Object.keys(document.layout?.wires ?? {})) {
    if (places.has(id.slice(0, id.indexOf(":")))) draft.remove(["layout", "wires", id]);
  }
  for (const { id, from, to, order } of wires) {
    const points = bends.get(`${from.block} ${to.block}`) ?? [];
    if (points.length && !order)
      draft.put(
        ["layout", "wires", id],
        points.map(({ x, y }) => [x, y]),
      );
  }
  refitFrames(draft, places);
  if (places.size === before.size)
    putRects(draft, moveClear(boxes, occupied(document, before), occupied(draft.document, places)));
  return actionOf(draft, { kind: "tidy", count: places.size });
}

function notesAndMonitors(document: PageDocument): Item[] {
  return [
    ...Object.keys(document.notes ?? {}).map((name) => item("note", name)),
    ...monitorsOnPage(document).map((name) => item("monitor", name)),
  ];
}

export function monitorsOnPage(document: PageDocument): string[] {
  return Object.keys(document.monitors ?? {}).filter((name) => isOnPage(document, name));
}

/** Puts a monitor on the page, or into the panel with null. */
export function placeMonitor(document: PageDocument, name: string, rect: Rect | null): Action {
  const draft = new Draft(document);
  if (rect) putRects(draft, new Map([[item("monitor", name), rect]]));
  else draft.remove(["layout", "monitors", name]);
  return actionOf(draft, { kind: "monitor", name });
}

/** The bounding box of all blocks and frames. */
function occupied(document: PageDocument, places: ReadonlyMap<string, Rect>): Rect | undefined {
  const frames = Object.keys(document.frames ?? {}).map((name) => boxRect(document, "frames", name, places));
  return bounds([...places.values(), ...frames]);
}

/** Moves boxes that were above the blocks above them again, and all others below, each group as a whole. */
function moveClear(
  boxes: ReadonlyMap<Item, Rect>,
  old: Rect | undefined,
  now: Rect | undefined,
): Map<Item, Rect> {
  const moved = new Map<Item, Rect>();
  if (!old || !now) return moved;
  const isAbove = (rect: Rect): boolean => rect.y + rect.height <= old.y;
  const above = bounds([...boxes.values()].filter(isAbove));
  const below = bounds([...boxes.values()].filter((rect) => !isAbove(rect)));
  for (const [each, rect] of boxes) {
    const by =
      isAbove(rect) && above
        ? now.y - GAP - (above.y + above.height)
        : now.y + now.height + GAP - (below?.y ?? 0);
    moved.set(each, { ...rect, y: rect.y + by });
  }
  return moved;
}

/** Refits frames whose blocks have all moved. */
function refitFrames(draft: Draft, places: ReadonlyMap<string, Rect>): void {
  const frames = new Map<Item, Rect>();
  for (const [name, frame] of Object.entries(draft.frames)) {
    const inside = frame.blocks ?? [];
    const rects = inside.map((block) => places.get(block));
    if (inside.length && rects.every((rect) => rect)) frames.set(item("frame", name), frameAround(rects));
  }
  putRects(draft, frames);
}

// -- frames, notes, monitors ------------------------------------------------------------------

function putBoxed(
  draft: Draft,
  section: BoxSection,
  wanted: string,
  value: Frame | Note | Monitor,
  rect: Rect,
): string {
  const taken = draft.document[section] ?? {};
  const name = uniqueName(wanted, (each) => Object.hasOwn(taken, each));
  draft.put([section, name], value);
  draft.put(
    ["layout", section, name],
    [rounded(rect.x), rounded(rect.y), rounded(rect.width), rounded(rect.height)],
  );
  return name;
}

/** Adds a frame around blocks, or an empty one. */
export function addFrame(
  document: PageDocument,
  blocks: readonly string[],
  places: ReadonlyMap<string, Rect>,
  title: string,
  at?: Rect,
): AddAction {
  const draft = new Draft(document);
  const rect = at ?? frameAround(blocks.map((name) => places.get(name)));
  const name = putBoxed(draft, "frames", "frame", blocks.length ? { title, blocks } : { title }, rect);
  return { ...actionOf(draft, { kind: "add frame", name: title }), added: [item("frame", name)] };
}

export function setFrame(
  document: PageDocument,
  name: string,
  change: { title?: string; blocks?: readonly string[] },
  language = "en",
): Action {
  const draft = new Draft(document);
  if (change.title !== undefined) draft.putText(["frames", name], "title", change.title, language);
  if (change.blocks) draft.putList(["frames", name, "blocks"], change.blocks);
  return actionOf(draft, { kind: "frame", name: draft.frames[name]?.title || name });
}

export function addNote(document: PageDocument, text: string, rect: Rect): AddAction {
  const draft = new Draft(document);
  const name = putBoxed(draft, "notes", "note", { text }, rect);
  return { ...actionOf(draft, { kind: "add note" }), added: [item("note", name)] };
}

export function setNote(document: PageDocument, name: string, text: string, language = "en"): Action {
  const draft = new Draft(document);
  draft.putText(["notes", name], "text", text, language);
  return actionOf(draft, { kind: "note" });
}

export function addMonitor(
  document: PageDocument,
  kind: string,
  shows: readonly MonitorSource[],
  rect: Rect,
): AddAction {
  const draft = new Draft(document);
  const wanted = shows[0] ? `${shows[0].pin.split(":")[0]?.replaceAll("/", "_")}` : kind;
  const name = putBoxed(draft, "monitors", wanted, shows.length ? { kind, shows } : { kind }, rect);
  return { ...actionOf(draft, { kind: "add monitor", name }), added: [item("monitor", name)] };
}

export function titleMonitor(document: PageDocument, name: string, title: string, language = "en"): Action {
  const draft = new Draft(document);
  draft.putText(["monitors", name], "title", title, language);
  return actionOf(draft, { kind: "monitor", name });
}

/** Sets fields of a monitor; undefined removes one. */
export function setMonitor(
  document: PageDocument,
  name: string,
  change: { readonly [F in keyof Monitor]?: Monitor[F] | undefined },
): Action {
  const draft = new Draft(document);
  for (const [field, value] of Object.entries(change)) {
    if (value === undefined || value === null || value === "") draft.remove(["monitors", name, field]);
    else draft.put(["monitors", name, field], value as Json);
  }
  return actionOf(draft, { kind: "monitor", name });
}

/** Adds an output to a monitor, or removes it. */
export function toggleShown(document: PageDocument, name: string, pin: string): Action {
  const shows = document.monitors?.[name]?.shows ?? [];
  const left = shows.filter((shown) => shown.pin !== pin);
  return setMonitor(document, name, { shows: left.length < shows.length ? left : [...shows, { pin }] });
}
