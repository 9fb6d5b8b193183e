/** Pointer gestures on the canvas, by mouse, pen and touch: select, drag, marquee, wire, bend, resize, cut. */

import { type Item, item, namesOf, parseItem } from "../../model/action.ts";
import { apply } from "../../model/document.ts";
import { moveBy, resize, withFrameContents } from "../../model/edit-layout.ts";
import { bendWire, disconnect, dropOnWire } from "../../model/edit-wires.ts";
import {
  encloses,
  intersectsLine,
  overlaps,
  type Point,
  type Rect,
  rectBetween,
  snapToGrid,
} from "../../model/geometry.ts";
import { type Graph, graphOf, type Wire } from "../../model/graph.ts";
import { LongPress } from "./long-press.ts";
import type { PointerHost } from "./pointer-host.ts";
import type { BoxShape } from "./scene.ts";
import { type Hit, itemOfBox, itemOfHit, type Stage } from "./stage.ts";
import { type WireDrag, WireDrawing } from "./wiring.ts";

type Gesture =
  | { kind: "press"; hit: Hit; at: Point; button: number }
  | { kind: "move"; items: Set<Item>; from: Point; by: Point }
  | { kind: "marquee"; from: Point; to: Point; before: ReadonlySet<Item> }
  | WireDrag
  | { kind: "resize"; box: BoxShape; from: Point; to: Point }
  | { kind: "bend"; wire: Wire; points: Point[]; place: number }
  | { kind: "cut"; points: Point[] };

const DRAG_THRESHOLD = 4;

export class PointerController {
  private gesture: Gesture | null = null;
  private readonly wiring: WireDrawing;
  private pointer = -1;
  private claimed = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly stage: Stage,
    private readonly host: PointerHost,
  ) {
    this.wiring = new WireDrawing(stage, host);
    const on = <K extends keyof HTMLElementEventMap>(
      kind: K,
      listen: (event: HTMLElementEventMap[K]) => void,
    ) => root.addEventListener(kind, listen, { capture: true, passive: false, signal: this.ending.signal });
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.up(event));
    on("pointercancel", () => {
      this.longPress.stop();
      this.cancel();
    });
    on("touchend", (event) => {
      // Else the end of the touch would click the menu below it.
      if (this.longPress.fired) event.preventDefault();
      this.longPress.end();
    });
    on("touchstart", (event) => this.claimed && event.stopPropagation());
    on("mousedown", (event) => this.claimed && event.stopPropagation());
    on("dblclick", (event) => this.doubleClick(event));
    on("contextmenu", (event) => {
      if (this.longPress.fired) event.preventDefault();
      else this.contextMenu(event);
      this.longPress.stop();
    });
  }

  private readonly longPress = new LongPress((event) => {
    this.cancel();
    this.contextMenu(event);
  });

  private readonly ending = new AbortController();

  end(): void {
    this.longPress.end();
    this.ending.abort();
  }

  /** Cancels the current gesture; false if there is none. */
  cancel(): boolean {
    const busy = this.gesture !== null || this.wiring.isWaiting;
    if (this.gesture?.kind === "move") this.shift(this.gesture.items, { x: 0, y: 0 });
    this.gesture = null;
    this.wiring.stop();
    this.claimed = false;
    this.host.marquee(null);
    this.clearFeedback();
    return busy;
  }

  // -- coordinates -------------------------------------------------------------------------------

  private toLocal(event: MouseEvent): Point {
    const box = this.root.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private toPage(event: MouseEvent): Point {
    const { x, y } = this.toLocal(event);
    return this.stage.toPage(x, y);
  }

  private tolerance(event: PointerEvent | MouseEvent): number {
    const pixels = "pointerType" in event && event.pointerType === "touch" ? 18 : 10;
    return Math.min(pixels / this.stage.viewport.zoom, 24);
  }

  // -- events ------------------------------------------------------------------------------------

  private down(event: PointerEvent): void {
    this.claimed = false;
    this.longPress.down(event);
    if (this.gesture !== null || isWidget(event.target) || !this.isCanvas(event.target)) return;
    if (event.button !== 0) return;
    const at = this.toPage(event);
    const hit = this.stage.hitTest(at, this.tolerance(event));
    if (event.pointerType === "touch" && hit.kind === "open") {
      this.tapOpen();
      return;
    }
    this.claimed = true;
    this.pointer = event.pointerId;
    this.gesture = { kind: "press", hit, at, button: event.button };
    this.root.focus({ preventScroll: true });
  }

  private move(event: PointerEvent): void {
    const at = this.toPage(event);
    this.longPress.move(event);
    if (this.gesture === null) {
      this.hover(event, at);
      return;
    }
    if (event.pointerId !== this.pointer) return;
    if (this.gesture.kind === "press") {
      const { at: from } = this.gesture;
      if (Math.hypot(at.x - from.x, at.y - from.y) * this.stage.viewport.zoom < DRAG_THRESHOLD) return;
      this.root.setPointerCapture(event.pointerId);
      this.startDrag(this.gesture, event);
    }
    this.updateDrag(at, event);
  }

  private up(event: PointerEvent): void {
    this.longPress.stop();
    const { gesture: doing } = this;
    if (doing === null || event.pointerId !== this.pointer) return;
    this.gesture = null;
    const at = this.toPage(event);
    if (doing.kind === "press") this.click(doing.hit, event);
    else this.endDrag(doing, at, event);
    this.host.marquee(null);
    this.clearFeedback();
  }

  private doubleClick(event: MouseEvent): void {
    if (isWidget(event.target) || !this.isCanvas(event.target)) return;
    const place = this.toPage(event);
    const hit = this.stage.hitTest(place, this.tolerance(event));
    if (hit.kind === "open") this.host.search({ x: event.clientX, y: event.clientY }, place, null);
    else this.host.open(hit);
  }

  private contextMenu(event: MouseEvent): void {
    if (isWidget(event.target) || !this.isCanvas(event.target)) return;
    event.preventDefault();
    const place = this.toPage(event);
    const hit = this.stage.hitTest(place, this.tolerance(event));
    const chosen = itemOfHit(hit);
    if (chosen !== null && !this.host.selection().has(chosen)) this.host.select([chosen]);
    this.host.menu({ x: event.clientX, y: event.clientY }, place, hit);
  }

  /** Whether an event is for the canvas, and not for a toolbar on it. */
  private isCanvas(target: EventTarget | null): boolean {
    return target instanceof Element && target.closest(".canvas-tools, .minimap, .block-problem") === null;
  }

  private tapOpen(): void {
    if (this.wiring.isWaiting) this.cancel();
    else this.host.select([]);
  }

  // -- gestures ----------------------------------------------------------------------------------

  private startDrag({ hit, at }: Gesture & { kind: "press" }, event: PointerEvent): void {
    const graph = this.host.graph();
    if (graph === null) return;
    if (hit.kind === "output") this.gesture = this.wiring.draw({ from: hit.pin.ref });
    else if (hit.kind === "input") this.gesture = this.wiring.drawAt(graph, hit);
    else if (hit.kind === "bend") this.gesture = this.startBend(graph, hit.wire, hit.place, null);
    else if (hit.kind === "wire") this.gesture = this.startBend(graph, hit.wire, -1, at);
    else if (hit.kind === "box" && hit.part === "corner")
      this.gesture = { kind: "resize", box: hit.box, from: at, to: at };
    else if (hit.kind === "open" && event.altKey) this.gesture = { kind: "cut", points: [at] };
    else if (hit.kind === "open")
      this.gesture = { kind: "marquee", from: at, to: at, before: this.keptSelection(event) };
    else this.gesture = this.startMove(graph, hit, at);
  }

  private keptSelection(event: PointerEvent): ReadonlySet<Item> {
    return event.shiftKey || event.ctrlKey || event.metaKey ? new Set(this.host.selection()) : new Set();
  }

  private startMove(graph: Graph, hit: Hit, from: Point): Gesture {
    const taken = itemOfHit(hit) as Item;
    if (!this.host.selection().has(taken)) this.host.select([taken]);
    const items = withFrameContents(
      graph.document,
      [...this.host.selection()].filter((each) => parseItem(each).kind !== "wire"),
    );
    return { kind: "move", items, from, by: { x: 0, y: 0 } };
  }

  private startBend(graph: Graph, id: string, place: number, at: Point | null): Gesture | null {
    const wire = graph.byId.get(id);
    if (wire === undefined || wire.order) return null;
    const curves = this.stage.scene?.wires.get(id)?.curves ?? [];
    const points = curves.slice(1).map((curve) => curve[0]);
    if (at === null) return { kind: "bend", wire, points, place };
    const before = points.filter((point) => point.x < at.x).length;
    return {
      kind: "bend",
      wire,
      points: [...points.slice(0, before), at, ...points.slice(before)],
      place: before,
    };
  }

  private updateDrag(at: Point, event: PointerEvent): void {
    const { gesture: doing, stage } = this;
    if (doing === null) return;
    if (doing.kind === "move") {
      doing.by = { x: snapToGrid(at.x - doing.from.x), y: snapToGrid(at.y - doing.from.y) };
      if (event.shiftKey)
        doing.by =
          Math.abs(doing.by.x) > Math.abs(doing.by.y) ? { ...doing.by, y: 0 } : { ...doing.by, x: 0 };
      this.shift(doing.items, doing.by);
      stage.emphasis = { ...stage.emphasis, hovered: this.wireUnder(doing) ?? null };
    } else if (doing.kind === "marquee") {
      doing.to = at;
      this.host.marquee(rectBetween(stage.toScreen(doing.from), stage.toScreen(at)));
      this.host.select(new Set([...doing.before, ...this.itemsInMarquee(doing)]));
    } else if (doing.kind === "wire")
      this.wiring.show(doing, at, stage.hitTest(at, this.tolerance(event) * 1.6));
    else if (doing.kind === "resize") {
      doing.to = at;
      const rect = this.resized(doing);
      stage.scene?.resizeBox(doing.box, rect);
      sizeElement(this.root, itemOfBox(doing.box), rect);
    } else if (doing.kind === "bend") {
      doing.points = doing.points.map((point, i) => (i === doing.place ? at : point));
      stage.scene?.bend(doing.wire, doing.points);
    } else if (doing.kind === "cut") doing.points = [...doing.points, at];
    stage.cutLine = doing.kind === "cut" ? doing.points : [];
    stage.requestPaint();
  }

  private endDrag(doing: Exclude<Gesture, { kind: "press" }>, at: Point, event: PointerEvent): void {
    const graph = this.host.graph();
    const { scene } = this.stage;
    if (graph === null || scene === null) return;
    if (doing.kind === "move") this.dropItems(graph, doing);
    else if (doing.kind === "wire") this.dropWire(graph, doing, at, event);
    else if (doing.kind === "resize")
      this.host.dispatch(resize(graph.document, itemOfBox(doing.box), this.resized(doing)));
    else if (doing.kind === "bend") this.host.dispatch(bendWire(graph.document, doing.wire, doing.points));
    else if (doing.kind === "cut") {
      const crossed = graph.wires.filter((wire) =>
        intersectsLine(scene.wires.get(wire.id)?.curves ?? [], doing.points),
      );
      if (crossed.length > 0) this.host.dispatch(disconnect(graph.document, crossed));
    }
  }

  private dropItems(graph: Graph, doing: Gesture & { kind: "move" }): void {
    const { scene } = this.stage;
    const onWire = this.wireUnder(doing);
    this.shift(doing.items, { x: 0, y: 0 });
    if (scene === null || (doing.by.x === 0 && doing.by.y === 0)) return;
    const moved = moveBy(graph.document, doing.items, scene.places, doing.by);
    const wire = onWire === undefined ? undefined : graph.byId.get(onWire);
    const [name] = namesOf(doing.items, "block");
    if (wire === undefined || name === undefined) {
      this.host.dispatch(moved);
      return;
    }
    const after = graphOf(apply(graph.document, moved.edits).document, graph.ops, graph.checked, graph);
    const inserted = dropOnWire(after, wire, name);
    this.host.dispatch({ label: inserted.label, edits: [...moved.edits, ...inserted.edits] });
  }

  /** The wire below a single dragged block that has no wires. */
  private wireUnder(doing: Gesture & { kind: "move" }): string | undefined {
    const graph = this.host.graph();
    const { scene } = this.stage;
    const [name] = namesOf(doing.items, "block");
    if (graph === null || scene === null || name === undefined || doing.items.size !== 1) return undefined;
    if (graph.into.has(name) || graph.outOf.has(name)) return undefined;
    const rect = scene.at(name);
    const middle = { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 };
    const hit = this.stage.wireAt(scene, middle, Math.min(rect.height / 2, 48));
    return hit?.kind === "wire" ? hit.wire : undefined;
  }

  private dropWire(graph: Graph, drawn: WireDrag, at: Point, event: PointerEvent): void {
    const hit = this.stage.hitTest(at, this.tolerance(event) * 1.6);
    if (this.wiring.join(graph, drawn, hit)) return;
    if (hit.kind === "open" || hit.kind === "wire" || hit.kind === "bend")
      this.host.search({ x: event.clientX, y: event.clientY }, at, drawn.end);
  }

  private click(hit: Hit, event: PointerEvent): void {
    if (this.wiring.click(hit)) return;
    const chosen = itemOfHit(hit);
    const adding = event.shiftKey || event.ctrlKey || event.metaKey;
    if (chosen === null) {
      if (!adding) this.host.select([]);
      return;
    }
    const now = new Set(adding ? this.host.selection() : []);
    if (adding && now.has(chosen)) now.delete(chosen);
    else now.add(chosen);
    this.host.select(now);
  }

  // -- feedback ------------------------------------------------------------------------------------

  private hover(event: PointerEvent, at: Point): void {
    const { stage } = this;
    if (event.pointerType === "touch" || stage.scene === null || isWidget(event.target)) return;
    if (this.wiring.follow(at)) return;
    const hit = stage.hitTest(at, this.tolerance(event) * 0.6);
    const hovered = hit.kind === "wire" || hit.kind === "bend" ? hit.wire : null;
    if (hovered === stage.emphasis.hovered) return;
    stage.emphasis = { ...stage.emphasis, hovered };
    stage.requestPaint();
  }

  /** Removes the feedback of a gesture. */
  private clearFeedback(): void {
    const { stage } = this;
    stage.cutLine = [];
    if (!this.wiring.isWaiting) this.wiring.clear();
    stage.emphasis = { ...stage.emphasis, hovered: null };
    stage.requestPaint();
  }

  private shift(items: ReadonlySet<Item>, by: Point): void {
    this.stage.scene?.shift(namesOf(items, "block"), by.x, by.y);
    this.stage.scene?.shiftBoxes(items, by.x, by.y);
    for (const each of items) {
      const element = this.root.querySelector<HTMLElement>(`[data-id="${CSS.escape(each)}"]`);
      if (element) element.style.translate = by.x === 0 && by.y === 0 ? "" : `${by.x}px ${by.y}px`;
    }
    this.stage.requestPaint();
  }

  private resized({ box: { rect }, from, to }: Gesture & { kind: "resize" }): Rect {
    return {
      ...rect,
      width: Math.max(96, snapToGrid(rect.width + to.x - from.x)),
      height: Math.max(64, snapToGrid(rect.height + to.y - from.y)),
    };
  }

  private itemsInMarquee({ from, to }: Gesture & { kind: "marquee" }): Item[] {
    const { scene } = this.stage;
    if (scene === null) return [];
    const rect = rectBetween(from, to);
    const blocks = [...scene.grid.search(rect)].map((name) => item("block", name));
    const boxes = scene.boxes.filter((box) =>
      box.kind === "frames" ? encloses(rect, box.rect) : overlaps(box.rect, rect),
    );
    return [...blocks, ...boxes.map(itemOfBox)];
  }
}

function isWidget(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest("input, select, textarea, button, a, [contenteditable]") !== null
  );
}

function sizeElement(root: HTMLElement, which: Item, rect: Rect): void {
  const element = root.querySelector<HTMLElement>(`[data-id="${CSS.escape(which)}"]`);
  if (element === null) return;
  element.style.width = `${rect.width}px`;
  element.style.height = `${rect.height}px`;
}
