/** The scene graph of the canvas: rectangles, wire curves and labels, computed once for each graph. */

import { shortSpec } from "../../model/format.ts";
import {
  type BoxSection,
  bendsOf,
  bounds,
  boxRect,
  type Curve,
  curveBounds,
  curvesBetween,
  isOnPage,
  type Point,
  pointOn,
  type Rect,
  SpatialIndex,
  wireEnds,
} from "../../model/geometry.ts";
import { type BlockView, type Graph, specOf, type Wire } from "../../model/graph.ts";
import { routeAround } from "../../model/wire-route.ts";
import type { Problem } from "../../net/generated.ts";
import { dtypeFamily, type Family } from "./colours.ts";

export interface WireShape {
  readonly wire: Wire;
  readonly curves: readonly Curve[];
  /** The bend points that the page gives it; without any it goes around blocks by itself. */
  readonly bends: readonly Point[];
  readonly box: Rect;
  readonly family: Family;
  /** Dtype and shape. */
  readonly label: string;
  /** The visible part of the label and its position; null if there is no room. */
  readonly text: { readonly words: string; readonly at: Point } | null;
  /** Whether its input has a problem. */
  readonly bad: boolean;
}

export interface BoxShape {
  readonly kind: BoxSection;
  readonly name: string;
  readonly rect: Rect;
}

/** The problems of a block, apart from missing inputs. */
export function conflictsOf(graph: Graph, name: string): readonly Problem[] {
  const waiting = new Set(
    graph.blocks
      .get(name)
      ?.inputs.filter((pin) => pin.state === "missing")
      .map((pin) => pin.info.name),
  );
  return (graph.problems.get(name) ?? []).filter((problem) => !waiting.has(problem.arg ?? ""));
}

/** The width of a letter of a label, and the curve parameters where a label may be placed. */
const LETTER_WIDTH = 7.3;
const LABEL_POSITIONS = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.15, 0.85, 0.1, 0.9];

const NO_RECT: Rect = { x: 0, y: 0, width: 0, height: 0 };

/** Geometry of a graph, with offsets while items are dragged. */
export class Scene {
  readonly grid: SpatialIndex;
  readonly wires = new Map<string, WireShape>();
  readonly boxes: BoxShape[] = [];
  /** Blocks with problems other than missing inputs. */
  readonly conflicts = new Set<string>();
  private readonly wireGrid = new SpatialIndex();
  private readonly textGrid = new SpatialIndex();
  private readonly restRects: Rect[];
  private shifted = new Set<string>();

  constructor(
    readonly graph: Graph,
    readonly places: ReadonlyMap<string, Rect>,
    monitors: "on page" | "all" = "on page",
  ) {
    this.grid = new SpatialIndex(places);
    for (const kind of ["frames", "notes", "monitors"] as const) {
      for (const name of Object.keys(graph.document[kind] ?? {}))
        if (kind !== "monitors" || monitors === "all" || isOnPage(graph.document, name))
          this.boxes.push({ kind, name, rect: boxRect(graph.document, kind, name, this.places) });
    }
    for (const name of graph.problems.keys())
      if (conflictsOf(graph, name).length > 0) this.conflicts.add(name);
    this.restRects = this.boxes.map((box) => box.rect);
    for (const wire of graph.wires) this.placeWire(wire, this.places);
  }

  block(name: string): BlockView | undefined {
    return this.graph.blocks.get(name);
  }

  /** Offsets blocks, with their wires, during a drag. */
  shift(names: Iterable<string>, dx: number, dy: number): void {
    const places = new Map(this.places);
    const touched = new Set<Wire>();
    for (const name of new Set([...this.shifted, ...names])) {
      for (const wire of this.graph.into.get(name) ?? []) touched.add(wire);
      for (const wire of this.graph.outOf.get(name) ?? []) touched.add(wire);
    }
    this.shifted = new Set(names);
    for (const name of this.shifted) {
      const rect = this.places.get(name);
      if (rect) places.set(name, { ...rect, x: rect.x + dx, y: rect.y + dy });
    }
    this.shown = places;
    for (const wire of touched) this.placeWire(wire, places);
  }

  /** Offsets frames, notes and monitors during a drag. */
  shiftBoxes(items: ReadonlySet<string>, dx: number, dy: number): void {
    this.boxes.forEach((box, i) => {
      const home = this.restRects[i] as Rect;
      const moves = items.has(`${box.kind.slice(0, -1)}/${box.name}`);
      this.boxes[i] = { ...box, rect: moves ? { ...home, x: home.x + dx, y: home.y + dy } : home };
    });
  }

  /** Resizes a frame, note or monitor during a drag. */
  resizeBox({ kind, name }: BoxShape, rect: Rect): void {
    const place = this.boxes.findIndex((box) => box.kind === kind && box.name === name);
    if (place >= 0) this.boxes[place] = { kind, name, rect };
  }

  /** Bends a wire during a drag. */
  bend(wire: Wire, points: readonly Point[]): void {
    this.placeWire(wire, this.shown.size > 0 ? this.shown : this.places, points);
  }

  /** The rectangles of blocks during a drag; empty otherwise. */
  shown: ReadonlyMap<string, Rect> = new Map();

  at(name: string): Rect {
    return (this.shown.size > 0 ? this.shown.get(name) : this.places.get(name)) ?? NO_RECT;
  }

  wiresWithin(rect: Rect): Set<string> {
    return this.wireGrid.search(rect);
  }

  bounds(): Rect | undefined {
    return bounds([...this.places.values(), ...this.boxes.map((box) => box.rect)]);
  }

  /** Places a label where it overlaps no block and no other label, near the middle first; only the shape if room is short. */
  private placeLabel(id: string, curves: readonly Curve[], label: string): WireShape["text"] {
    this.textGrid.delete(id);
    const middle = (curves.length - 1) / 2;
    const inner = [...curves.keys()].sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
    const points = inner.flatMap((place) => LABEL_POSITIONS.map((t) => pointOn(curves[place] as Curve, t)));
    for (const words of label === "" ? [] : new Set([label, label.slice(label.indexOf(" ") + 1)])) {
      const width = words.length * LETTER_WIDTH + 8;
      for (const at of points) {
        const rect = { x: at.x - width / 2, y: at.y - 8, width, height: 16 };
        if (this.grid.search(rect).size > 0 || this.textGrid.search(rect).size > 0) continue;
        this.textGrid.set(id, rect);
        return { words, at };
      }
    }
    return null;
  }

  private placeWire(
    wire: Wire,
    places: ReadonlyMap<string, Rect>,
    bends: readonly Point[] = bendsOf(this.graph.document, wire),
  ): void {
    const ends = wireEnds(this.graph, places, wire);
    if (ends === undefined) return;
    const curves =
      bends.length > 0
        ? curvesBetween([ends[0], ...bends, ends[1]])
        : routeAround(...ends, this.grid, [wire.from.block, wire.to.block]);
    const box = bounds(curves.map(curveBounds)) ?? NO_RECT;
    const spec = wire.order ? undefined : specOf(this.graph, wire.source);
    const problems = this.graph.problems.get(wire.to.block) ?? [];
    const label = spec === undefined ? "" : shortSpec(spec);
    this.wires.set(wire.id, {
      wire,
      curves,
      bends,
      box,
      family: wire.order ? "any" : dtypeFamily(spec?.dtype),
      label,
      text: this.placeLabel(wire.id, curves, label),
      bad: !wire.order && problems.some((problem) => problem.arg === wire.to.pin),
    });
    this.wireGrid.set(wire.id, box);
  }
}
