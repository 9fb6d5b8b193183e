/** Drawing of wires: dragged from pin to pin, or by two clicks or taps on pins. */

import { candidateInputs, candidateOutputs, connectionError } from "../../model/connections.ts";
import type { InputRef, OutputRef } from "../../model/document.ts";
import { connect, disconnect, reconnect } from "../../model/edit-wires.ts";
import { inputOffset, outputOffset, type Point } from "../../model/geometry.ts";
import { type Graph, outputPinOf, type Wire } from "../../model/graph.ts";
import type { PointerHost, WireEnd } from "./pointer-host.ts";
import type { Hit, Stage } from "./stage.ts";

/** A wire drag: its fixed end, and the wire that was taken off an input, if any. */
export interface WireDrag {
  readonly kind: "wire";
  readonly end: WireEnd;
  readonly from: Point;
  readonly taken: Wire | null;
}

interface Ends {
  readonly from: OutputRef;
  readonly to: InputRef;
}

export class WireDrawing {
  /** The pin of the first click; the second click connects. */
  private waiting: WireEnd | null = null;

  constructor(
    private readonly stage: Stage,
    private readonly host: PointerHost,
  ) {}

  /** Whether a wire waits for the second click. */
  get isWaiting(): boolean {
    return this.waiting !== null;
  }

  stop(): void {
    this.waiting = null;
  }

  // -- dragged -----------------------------------------------------------------------------------

  draw(end: WireEnd, taken: Wire | null = null): WireDrag {
    this.waiting = null;
    this.begin(end);
    return { kind: "wire", end, from: this.pinPoint(end) ?? { x: 0, y: 0 }, taken };
  }

  /** Starts a drag at an input: takes its wire off, or starts a new one. */
  drawAt(graph: Graph, hit: Hit & { kind: "input" }): WireDrag {
    const wire = graph.byId.get(`${hit.block}:${hit.pin.key}`);
    return wire === undefined ? this.draw({ to: hit.pin.ref }) : this.draw({ from: wire.from }, wire);
  }

  show({ end, from: start }: WireDrag, at: Point, hit: Hit): void {
    const ends = this.ends(end, hit);
    const fits = ends !== null && this.fits(ends);
    const [from, to] = "from" in end ? [start, at] : [at, start];
    this.stage.pendingWire = { from, to, fits };
  }

  /** Drops a wire; false if it was dropped on the empty canvas. */
  join(graph: Graph, { end, taken }: WireDrag, hit: Hit): boolean {
    const ends = this.ends(end, hit);
    if (ends === null) {
      if (taken !== null) this.host.dispatch(disconnect(graph.document, [taken]));
      return taken !== null;
    }
    const { from, to } = ends;
    const same = taken?.to.block === to.block && taken.to.pin === to.pin && taken.to.index === to.index;
    if (same) return true;
    if (!this.fits(ends)) this.host.refuse(from, to);
    else
      this.host.dispatch(
        taken === null ? connect(graph.document, from, to) : reconnect(graph.document, taken, { to }),
      );
    return true;
  }

  // -- by clicks ---------------------------------------------------------------------------------

  /** Starts or ends a wire with a click; false if the click is not for one. */
  click(hit: Hit): boolean {
    if (hit.kind === "input" || hit.kind === "output") {
      this.clickPin(hit);
      return true;
    }
    if (this.waiting === null) return false;
    const ends = this.ends(this.waiting, hit);
    const graph = this.host.graph();
    this.waiting = null;
    if (ends !== null && graph !== null) this.host.dispatch(connect(graph.document, ends.from, ends.to));
    return true;
  }

  private clickPin(hit: Hit & { kind: "input" | "output" }): void {
    const graph = this.host.graph();
    const end: WireEnd = hit.kind === "output" ? { from: hit.pin.ref } : { to: hit.pin.ref };
    const ends = this.waiting && this.ends(this.waiting, hit);
    this.waiting = null;
    if (ends === null || graph === null) {
      this.waiting = end;
      this.begin(end);
    } else if (this.fits(ends)) this.host.dispatch(connect(graph.document, ends.from, ends.to));
    else this.host.refuse(ends.from, ends.to);
  }

  /** Draws the wire that waits for a click to the pointer; false if there is none. */
  follow(at: Point): boolean {
    if (this.waiting === null) return false;
    const pin = this.pinPoint(this.waiting);
    if (pin)
      this.stage.pendingWire =
        "from" in this.waiting ? { from: pin, to: at, fits: false } : { from: at, to: pin, fits: false };
    this.stage.requestPaint();
    return true;
  }

  // -- feedback ------------------------------------------------------------------------------------

  private begin(end: WireEnd): void {
    this.mark(end);
    this.host.wiring(true);
  }

  /** Removes the feedback of drawing. */
  clear(): void {
    this.stage.pendingWire = null;
    this.stage.compatiblePins = [];
    this.host.wiring(false);
  }

  private mark(end: WireEnd): void {
    const graph = this.host.graph();
    if (graph === null) return;
    const fitting =
      "from" in end
        ? candidateInputs(graph, end.from)
            .filter(({ reason }) => !reason)
            .map(({ what }) => this.pinPoint({ to: what.ref }))
        : candidateOutputs(graph, end.to)
            .filter(({ reason }) => !reason)
            .map(({ what }) => this.pinPoint({ from: what.ref }));
    this.stage.compatiblePins = fitting.filter((point) => point !== null);
    this.stage.requestPaint();
  }

  private pinPoint(end: WireEnd): Point | null {
    const graph = this.host.graph();
    const { scene } = this.stage;
    const block = "from" in end ? end.from.block : end.to.block;
    const view = graph?.blocks.get(block);
    if (graph === null || scene === null || view === undefined) return null;
    const at = scene.at(block);
    const key =
      "from" in end
        ? outputPinOf(graph, end.from)?.key
        : view.inputs.find((pin) => pin.ref.pin === end.to.pin && pin.ref.index === end.to.index)?.key;
    const offset = "from" in end ? outputOffset(view, key ?? "") : inputOffset(view, key ?? "");
    return { x: at.x + offset.x, y: at.y + offset.y };
  }

  /** Both ends of the wire, if the pointer is at a pin, or at a block with a compatible one. */
  private ends(end: WireEnd, hit: Hit): Ends | null {
    const graph = this.host.graph();
    if (graph === null) return null;
    if ("from" in end) {
      if (hit.kind === "input") return { from: end.from, to: hit.pin.ref };
      if (hit.kind !== "block" || hit.block === end.from.block) return null;
      const pin = candidateInputs(graph, end.from).find(
        ({ what, reason }) => what.ref.block === hit.block && !reason,
      );
      return pin ? { from: end.from, to: pin.what.ref } : null;
    }
    if (hit.kind === "output") return { from: hit.pin.ref, to: end.to };
    if (hit.kind !== "block" || hit.block === end.to.block) return null;
    const pin = candidateOutputs(graph, end.to).find(
      ({ what, reason }) => what.ref.block === hit.block && !reason,
    );
    return pin ? { from: pin.what.ref, to: end.to } : null;
  }

  private fits({ from, to }: Ends): boolean {
    const graph = this.host.graph();
    return graph !== null && connectionError(graph, from, to) === undefined;
  }
}
