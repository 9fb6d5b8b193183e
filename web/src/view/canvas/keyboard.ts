/** Arrow keys of the canvas: they follow wires, and with Ctrl move the selection. */

import { type Action, type Item, item, namesOf } from "../../model/action.ts";
import { bendWire, moveBy, rectsOf, resize } from "../../model/actions.ts";
import { specText } from "../../model/format.ts";
import { bendsOf, GRID, type Point, type Rect, wireEnds } from "../../model/geometry.ts";
import { specOf } from "../../model/graph.ts";
import { type PageState, studio } from "../../state/store.ts";
import { coreStrings } from "../../text/index.ts";
import { currentPage, select } from "../active-page.ts";
import { canvasRef } from "../canvas-ref.ts";
import { useSettings } from "../settings.ts";
import { strings } from "../strings.ts";
import { ui } from "../ui.ts";
import type { PointerController } from "./pointer.ts";

type ArrowKey = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";
const DIRECTIONS: Record<ArrowKey, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export function handleCanvasKey(event: KeyboardEvent, pointer: PointerController | null): void {
  const page = currentPage();
  if (page === undefined) return;
  const way = DIRECTIONS[event.key as ArrowKey];
  const taken = () => {
    event.preventDefault();
    event.stopPropagation();
  };
  if (event.key === "Escape" && pointer?.cancel()) {
    taken();
    return;
  }
  if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && page.selection.size === 1) {
    const [which] = page.selection;
    const [note] = namesOf(page.selection, "note");
    if (note !== undefined) ui.setEditing(note);
    else ui.openField((which as Item).slice((which as Item).indexOf("/") + 1), "");
    taken();
    return;
  }
  if (way === undefined || event.altKey) return;
  if (event.ctrlKey || event.metaKey) {
    const by = { x: way[0] * GRID, y: way[1] * GRID };
    for (const action of event.shiftKey ? resized(page, by) : moved(page, by))
      studio.dispatch(page.page, action, "keys");
    taken();
    return;
  }
  if (event.shiftKey) return;
  const next = neighbour(event.key as ArrowKey);
  if (next !== undefined) focusBlock(next);
  taken();
}

/** Moves the selection; of a wire its bends, or its middle if it has none. */
function moved(page: PageState, by: Point): Action[] {
  const { document, graph, places, selection } = page;
  const items = [...selection].filter((each) => !each.startsWith("wire/"));
  const wires = namesOf(selection, "wire").flatMap((id) => graph.byId.get(id) ?? []);
  const bent = wires.flatMap((wire) => {
    const ends = wireEnds(graph, places, wire);
    if (ends === undefined) return [];
    const [start, end] = ends;
    const middle = { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 };
    const bends = bendsOf(document, wire);
    const points = (bends.length > 0 ? bends : [middle]).map(({ x, y }) => ({ x: x + by.x, y: y + by.y }));
    return [bendWire(document, wire, points)];
  });
  return items.length > 0 ? [moveBy(document, items, places, by), ...bent] : bent;
}

/** Resizes frames, notes and monitors. */
function resized({ document, selection, places }: PageState, by: Point): Action[] {
  const boxes = [...selection].filter((each) => !/^(wire|block)\//.test(each));
  return [...rectsOf(document, boxes, places)].map(([which, rect]) => {
    const [width, height] = [Math.max(96, rect.width + by.x), Math.max(64, rect.height + by.y)];
    return resize(document, which, { ...rect, width, height });
  });
}

/** The block in the direction of an arrow key: along a wire, or else the nearest. */
function neighbour(way: ArrowKey): string | undefined {
  const page = currentPage();
  if (page === undefined) return undefined;
  const { graph, places } = page;
  const [now] = namesOf(page.selection, "block");
  const [wire] = namesOf(page.selection, "wire").flatMap((id) => graph.byId.get(id) ?? []);
  if (wire) return way === "ArrowLeft" || way === "ArrowUp" ? wire.from.block : wire.to.block;
  if (now === undefined) return firstOf(places);
  if (way === "ArrowLeft") {
    const wire = graph.into.get(now)?.[0];
    if (wire) return wire.from.block;
  }
  if (way === "ArrowRight") {
    const wire = graph.outOf.get(now)?.[0];
    if (wire) return wire.to.block;
  }
  return nearest(places, now, DIRECTIONS[way]);
}

function firstOf(places: ReadonlyMap<string, Rect>): string | undefined {
  return [...places].sort(([, a], [, b]) => a.x + a.y - b.x - b.y)[0]?.[0];
}

function nearest(
  places: ReadonlyMap<string, Rect>,
  from: string,
  [dx, dy]: [number, number],
): string | undefined {
  const here = places.get(from);
  if (here === undefined) return undefined;
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const [name, rect] of places) {
    const [x, y] = [rect.x - here.x, rect.y - here.y];
    const along = x * dx + y * dy;
    const across = Math.abs(x * dy) + Math.abs(y * dx);
    if (name === from || along <= 0) continue;
    const distance = along + 2 * across;
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

export function focusBlock(name: string): void {
  select([item("block", name)]);
  canvasRef.current?.reveal(item("block", name));
  ui.announce(describe(name));
}

/** The announcement of the selected wire. */
export function describeWire(): string {
  const page = currentPage();
  const wire = page?.graph.byId.get(namesOf(page.selection, "wire")[0] ?? "");
  if (page === undefined || wire === undefined) return "";
  const spec = specOf(page.graph, wire.source);
  const carries = spec ? `; ${specText(spec, coreStrings[useSettings.getState().language])}` : "";
  return `${wire.source} → ${wire.id}${carries}`;
}

/** The announcement of a block. */
export function describe(name: string): string {
  const page = currentPage();
  const view = page?.graph.blocks.get(name);
  if (page === undefined || view === undefined) return name;
  const core = coreStrings[useSettings.getState().language];
  const outputs = view.outputs.map((pin) => {
    const spec = specOf(page.graph, `${name}:${pin.key}`);
    return spec ? `${pin.key} ${specText(spec, core)}` : pin.key;
  });
  const inputs = view.inputs
    .filter((pin) => typeof pin.value === "string")
    .map((pin) => `${pin.key} ← ${pin.value}`);
  const problems = page.graph.problems.get(name)?.length ?? 0;
  return [
    strings().blockNamed(name, view.op),
    inputs.join(", "),
    outputs.join(", "),
    problems > 0 ? core.outline.problems(problems) : "",
  ]
    .filter((part) => part !== "")
    .join("; ");
}
