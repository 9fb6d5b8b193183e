/** The canvas layer: viewport, painting once a frame, level of detail, and hit testing. */

import { type Item, item } from "../../model/action.ts";
import { localizedText, localizedTitle } from "../../model/document.ts";
import {
  BLOCK_WIDTH,
  contains,
  distanceTo,
  encloses,
  overlaps,
  type Point,
  pinRows,
  type Rect,
  ROW_HEIGHT,
  TITLE_HEIGHT,
} from "../../model/geometry.ts";
import type { BlockView, Graph, InputPin, OutputPin } from "../../model/graph.ts";
import type { Viewport } from "../../model/viewport.ts";
import { useSettings } from "../settings.ts";
import { strings } from "../strings.ts";
import { type Colours, readColours } from "./colours.ts";
import { type Emphasis, type LiveSource, Painter } from "./painter.ts";
import { type BoxShape, Scene } from "./scene.ts";

export type Hit =
  | { kind: "input"; block: string; pin: InputPin }
  | { kind: "output"; block: string; pin: OutputPin }
  | { kind: "block"; block: string }
  | { kind: "bend"; wire: string; place: number }
  | { kind: "wire"; wire: string }
  | { kind: "box"; box: BoxShape; part: "head" | "body" | "corner" }
  | { kind: "open" };

/** Below this zoom, or with more visible blocks than this, blocks are painted on the canvas instead of DOM elements. */
export const FAR_ZOOM = 0.55;
export const MAX_NEAR = 80;
/** The least zoom at which all text is at least 11 pixels high. */
export const LEGIBLE_ZOOM = 11 / 12;
/** The least zoom of a whole page at which names and kinds of blocks are legible. */
export const NAMES_ZOOM = 0.3;
/** The most blocks that are painted with all their text. */
const MAX_DETAILED = 150;
/** The spacing of the background dots. */
const DOT_SPACING = 24;
const MAX_BOXES = 16;

/** Blocks and boxes that are DOM elements. */
export interface NearItems {
  readonly blocks: readonly string[];
  readonly boxes: readonly BoxShape[];
}

const NO_EMPHASIS: Emphasis = {
  blocks: new Set(),
  wires: new Set(),
  boxes: new Set(),
  hovered: null,
  spotlight: false,
};
const NO_LIVE: LiveSource = {
  state: () => undefined,
  picture: () => undefined,
  slice: () => "",
  series: () => undefined,
};

export class Stage {
  scene: Scene | null = null;
  viewport: Viewport = { x: 0, y: 0, zoom: 1 };
  emphasis: Emphasis = NO_EMPHASIS;
  live: LiveSource = NO_LIVE;
  /** The wire that is being drawn, in page coordinates. */
  pendingWire: { from: Point; to: Point; fits: boolean } | null = null;
  /** Pins to which the wire that is being drawn can be connected. */
  compatiblePins: readonly Point[] = [];
  /** The polyline that cuts wires. */
  cutLine: readonly Point[] = [];
  onNear: (near: NearItems) => void = () => {};
  onPaint: () => void = () => {};
  width = 0;
  height = 0;
  private painter: Painter | null = null;
  private frame = 0;
  private nearRect: Rect | null = null;
  private near: NearItems = { blocks: [], boxes: [] };
  private isFar = false;

  constructor(readonly canvas: HTMLCanvasElement) {}

  get colours(): Colours | undefined {
    return this.painter?.colours;
  }

  get far(): boolean {
    return this.isFar;
  }

  readTheme(): void {
    const g = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    this.painter = new Painter(g, readColours(), this.viewport.zoom);
    this.requestPaint();
  }

  resize(width: number, height: number): void {
    const ratio = Math.min(devicePixelRatio, 2);
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.nearRect = null;
    this.requestPaint();
  }

  setGraph(graph: Graph, places: ReadonlyMap<string, Rect>): void {
    this.scene = new Scene(graph, places);
    this.nearRect = null;
    this.updateNear();
    this.requestPaint();
  }

  setViewport(view: Viewport): void {
    this.viewport = view;
    this.updateNear();
    this.requestPaint();
  }

  requestPaint(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paint());
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
  }

  // -- coordinates and hit testing -------------------------------------------------------------

  toPage(x: number, y: number): Point {
    return { x: (x - this.viewport.x) / this.viewport.zoom, y: (y - this.viewport.y) / this.viewport.zoom };
  }

  toScreen({ x, y }: Point): Point {
    return { x: x * this.viewport.zoom + this.viewport.x, y: y * this.viewport.zoom + this.viewport.y };
  }

  visibleRect(margin = 0): Rect {
    const { x, y } = this.toPage(-margin, -margin);
    return {
      x,
      y,
      width: (this.width + 2 * margin) / this.viewport.zoom,
      height: (this.height + 2 * margin) / this.viewport.zoom,
    };
  }

  /** Hit test: the topmost item at a page point. */
  hitTest(at: Point, reach: number): Hit {
    const { scene } = this;
    if (scene === null) return { kind: "open" };
    const pin = this.viewport.zoom > 0.28 ? this.pinAt(scene, at, reach) : undefined;
    if (pin) return pin;
    const boxes = scene.boxes.filter((box) => box.kind !== "frames" && contains(box.rect, at));
    const box = boxes.at(-1);
    if (box) return { kind: "box", box, part: this.partOf(box, at, reach) };
    const block = scene.grid.hitTest(at);
    if (block !== undefined) return { kind: "block", block };
    const line = this.wireAt(scene, at, reach);
    if (line) return line;
    return this.frameAt(scene, at, reach) ?? { kind: "open" };
  }

  private pinAt(scene: Scene, at: Point, reach: number): Hit | undefined {
    const around = { x: at.x - reach, y: at.y - reach, width: 2 * reach, height: 2 * reach };
    for (const name of scene.grid.search(around)) {
      const view = scene.block(name);
      const rect = scene.places.get(name);
      if (view === undefined || rect === undefined) continue;
      const row = Math.floor((at.y - rect.y - TITLE_HEIGHT) / ROW_HEIGHT);
      if (row < 0 || row >= pinRows(view)) continue;
      const input = view.inputs[row];
      if (input && Math.abs(at.x - rect.x) <= reach) return { kind: "input", block: name, pin: input };
      const output = view.outputs[row];
      if (output && Math.abs(at.x - rect.x - BLOCK_WIDTH) <= reach)
        return { kind: "output", block: name, pin: output };
    }
    return undefined;
  }

  wireAt(scene: Scene, at: Point, reach: number): Hit | undefined {
    let best: Hit | undefined;
    let least = reach;
    for (const id of scene.wiresWithin({
      x: at.x - reach,
      y: at.y - reach,
      width: 2 * reach,
      height: 2 * reach,
    })) {
      const { curves = [], bends = [] } = scene.wires.get(id) ?? {};
      const bend = bends.findIndex(({ x, y }) => Math.hypot(x - at.x, y - at.y) <= reach);
      if (bend >= 0) return { kind: "bend", wire: id, place: bend };
      for (const curve of curves) {
        const distance = distanceTo(curve, at);
        if (distance <= least) [best, least] = [{ kind: "wire", wire: id }, distance];
      }
    }
    return best;
  }

  /** A frame is hit at its title and corner only, so that its contents can be reached. */
  private frameAt(scene: Scene, at: Point, reach: number): Hit | undefined {
    for (const box of scene.boxes.filter((each) => each.kind === "frames").reverse()) {
      if (!contains(box.rect, at)) continue;
      const part = this.partOf(box, at, reach);
      if (part !== "body") return { kind: "box", box, part };
    }
    return undefined;
  }

  private partOf({ rect }: BoxShape, at: Point, reach: number): "head" | "body" | "corner" {
    if (at.x > rect.x + rect.width - reach * 1.4 && at.y > rect.y + rect.height - reach * 1.4)
      return "corner";
    return at.y < rect.y + 32 ? "head" : "body";
  }

  // -- level of detail ---------------------------------------------------------------------------

  /** Chooses the DOM elements, with overscan so that panning seldom changes them. */
  private updateNear(): void {
    const { scene } = this;
    if (scene === null || this.width === 0) return;
    const seen = this.visibleRect();
    if (this.nearRect !== null && encloses(this.nearRect, seen) && !this.zoomCrossed()) return;
    const around = this.visibleRect(160);
    const far = this.viewport.zoom < FAR_ZOOM || scene.grid.search(seen).size > MAX_NEAR;
    const boxes = scene.boxes.filter((box) => box.kind !== "frames" && overlaps(box.rect, around));
    this.nearRect = around;
    this.nearZoom = this.viewport.zoom;
    this.isFar = far;
    this.near = {
      blocks: far ? [] : [...scene.grid.search(around)],
      boxes: this.viewport.zoom < FAR_ZOOM || boxes.length > MAX_BOXES ? [] : boxes,
    };
    this.onNear(this.near);
  }

  private nearZoom = 0;

  private zoomCrossed(): boolean {
    const [a, b] = [this.nearZoom, this.viewport.zoom];
    // After zooming in, most elements would be far outside, and cost time at every frame.
    const others = this.isFar ? b > a : b < a * 0.8 || b > a * 1.25;
    return others || a < FAR_ZOOM !== b < FAR_ZOOM;
  }

  // -- painting ----------------------------------------------------------------------------------

  private paint(): void {
    this.frame = 0;
    const { scene, painter, canvas, viewport } = this;
    const g = canvas.getContext("2d") as CanvasRenderingContext2D;
    const ratio = this.width === 0 ? 1 : canvas.width / this.width;
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, canvas.width, canvas.height);
    if (painter === null) return;
    this.paintDots(g, ratio);
    g.setTransform(
      ratio * viewport.zoom,
      0,
      0,
      ratio * viewport.zoom,
      ratio * viewport.x,
      ratio * viewport.y,
    );
    painter.zoom = viewport.zoom;
    g.imageSmoothingEnabled = false;
    if (scene !== null) this.paintScene(scene, painter);
    this.paintMarks(g, painter);
    this.onPaint();
  }

  /** The background dots. One path of squares takes half the time of a scaled pattern. */
  private paintDots(g: CanvasRenderingContext2D, ratio: number): void {
    const { x, y, zoom } = this.viewport;
    if (zoom < 0.45) return;
    const { width, height } = this.canvas;
    const step = DOT_SPACING * zoom * ratio * (zoom < 0.8 ? 2 : 1);
    const side = Math.max(1, Math.round(1.5 * zoom * ratio));
    const first = (at: number) => ((at * ratio) % step) - step;
    g.beginPath();
    for (let left = first(x); left < width; left += step) {
      for (let top = first(y); top < height; top += step)
        g.rect(Math.round(left), Math.round(top), side, side);
    }
    g.fillStyle = this.painter?.colours.dots ?? "";
    g.fill();
  }

  private paintScene(scene: Scene, painter: Painter): void {
    const seen = this.visibleRect(8);
    const { zoom } = this.viewport;
    for (const box of scene.boxes) {
      if (box.kind === "frames" && overlaps(box.rect, seen))
        painter.frame(box, this.emphasis.boxes.has(itemOfBox(box)));
    }
    const wires = scene.wiresWithin(seen);
    painter.wires(scene, wires, this.emphasis, zoom > 0.24);
    if (zoom >= FAR_ZOOM) {
      painter.bends(scene, wires);
      painter.labels(scene, wires, this.emphasis);
    }
    if (this.isFar) this.paintFar(scene, painter, seen);
    if (this.near.boxes.length === 0) {
      for (const box of scene.boxes) {
        if (box.kind === "frames" || !overlaps(box.rect, seen)) continue;
        const [title, selected] = [titleOf(scene, box), this.emphasis.boxes.has(itemOfBox(box))];
        if (box.kind === "notes") painter.farBox(box, title, selected);
        else {
          const monitor = scene.graph.document.monitors?.[box.name];
          painter.monitor(box, title, monitor, this.live.series(box.name), selected, strings());
        }
      }
    }
    for (const box of scene.boxes)
      if (box.kind === "frames" && overlaps(box.rect, seen)) painter.frameTitle(box, titleOf(scene, box));
  }

  private paintFar(scene: Scene, painter: Painter, seen: Rect): void {
    const { zoom } = this.viewport;
    const names = scene.grid.search(seen);
    const legible = zoom >= FAR_ZOOM && names.size <= MAX_DETAILED;
    const detail = zoom < 0.17 ? "box" : legible ? "all" : "name";
    for (const name of names) {
      painter.block(scene, scene.block(name) as BlockView, this.live, this.emphasis, detail);
    }
  }

  private paintMarks(g: CanvasRenderingContext2D, painter: Painter): void {
    const { colours } = painter;
    for (const at of this.compatiblePins) {
      g.beginPath();
      g.arc(at.x, at.y, 9, 0, 2 * Math.PI);
      g.strokeStyle = colours.accent;
      g.lineWidth = 2;
      g.stroke();
    }
    if (this.pendingWire)
      painter.pendingWire(
        this.pendingWire.from,
        this.pendingWire.to,
        this.pendingWire.fits ? colours.accent : colours.inkSoft,
      );
    if (this.cutLine.length > 1) {
      g.beginPath();
      for (const [i, at] of this.cutLine.entries()) i === 0 ? g.moveTo(at.x, at.y) : g.lineTo(at.x, at.y);
      g.strokeStyle = colours.bad;
      g.lineWidth = 1.5 / this.viewport.zoom;
      g.setLineDash([4, 4]);
      g.stroke();
      g.setLineDash([]);
    }
  }
}

const KINDS = { frames: "frame", notes: "note", monitors: "monitor" } as const;

export function itemOfBox(box: BoxShape): Item {
  return item(KINDS[box.kind], box.name);
}

/** The item that a click selects. */
export function itemOfHit(hit: Hit): Item | null {
  switch (hit.kind) {
    case "block":
    case "input":
    case "output":
      return item("block", hit.block);
    case "wire":
    case "bend":
      return item("wire", hit.wire);
    case "box":
      return itemOfBox(hit.box);
    case "open":
      return null;
  }
}

/** The title of a box, or the plain text of a note. */
export function titleOf(scene: Scene, { kind, name }: BoxShape): string {
  const { document } = scene.graph;
  const { language } = useSettings.getState();
  if (kind !== "notes") return localizedTitle(language, document[kind]?.[name], name);
  const note = document.notes?.[name];
  return localizedText(language, note?.text, note?.texts).replace(/[*_#`]/g, "");
}
