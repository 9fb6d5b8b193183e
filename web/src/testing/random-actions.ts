/** Random user actions on a page, for property tests of undo, synchronisation and references. */

import * as actions from "../model/actions.ts";
import type { InputRef, Json, OutputRef, PageDocument } from "../model/document.ts";
import { blockRects, type Rect } from "../model/geometry.ts";
import { type Graph, keyOf } from "../model/graph.ts";
import { columnLayout, layoutInput } from "../model/layout.ts";
import { uniqueName } from "../model/names.ts";
import { seededRandom } from "../model/presets.ts";
import { example } from "./fixtures.ts";

export class RandomPicker {
  readonly places: ReadonlyMap<string, Rect>;
  private readonly next: () => number;

  constructor(
    readonly graph: Graph,
    seed: number,
  ) {
    this.next = seededRandom(seed);
    this.places = blockRects(graph);
  }

  get document(): PageDocument {
    return this.graph.document;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  one<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }

  some<T>(list: readonly T[]): T[] {
    return list.filter(() => this.next() < 0.3);
  }

  point(): { x: number; y: number } {
    return { x: this.below(2000) - 500, y: this.below(2000) - 500 };
  }

  rect(): Rect {
    return { ...this.point(), width: 40 + this.below(400), height: 40 + this.below(400) };
  }

  block(): string | undefined {
    return this.one([...this.graph.blocks.keys()]);
  }

  input(): InputRef | undefined {
    return this.one([...this.graph.blocks.values()].flatMap((view) => view.inputs))?.ref;
  }

  output(): OutputRef | undefined {
    return this.one([...this.graph.blocks.values()].flatMap((view) => view.outputs))?.ref;
  }

  value(): Json {
    return this.one<Json>([
      0,
      1.5,
      [1, 2],
      { dtype: "float32", value: [[1, "nan"]] },
      { $number: "1.0" },
    ]) as Json;
  }

  items(): actions.Item[] {
    const { blocks, frames, notes, monitors } = this.document;
    return this.some([
      ...Object.keys(blocks ?? {}).map((name) => actions.item("block", name)),
      ...Object.keys(frames ?? {}).map((name) => actions.item("frame", name)),
      ...Object.keys(notes ?? {}).map((name) => actions.item("note", name)),
      ...Object.keys(monitors ?? {}).map((name) => actions.item("monitor", name)),
    ]);
  }

  op() {
    return this.one(this.graph.ops.all);
  }
}

type MakeAction = (hand: RandomPicker) => actions.Action | undefined;

/** Calls `act` if both arguments exist: a page may have no block, wire or pin to pick. */
function given<A, B>(
  a: A | undefined,
  b: B | undefined,
  act: (a: A, b: B) => actions.Action,
): actions.Action | undefined {
  return a === undefined || b === undefined ? undefined : act(a, b);
}

/** Every action of `model/actions.ts` with random arguments; undefined where the page has nothing to act on. */
export const ALL_ACTIONS: Readonly<Record<string, MakeAction>> = {
  addBlock: (h) => given(h.op(), h.point(), (op, at) => actions.addBlock(h.document, op, at)),
  addConnectedFrom: (h) =>
    given(h.op(), h.output(), (op, from) => actions.addConnected(h.graph, op, h.point(), { from })),
  addConnectedTo: (h) =>
    given(h.op(), h.input(), (op, to) => actions.addConnected(h.graph, op, h.point(), { to })),
  connect: (h) => given(h.output(), h.input(), (from, to) => actions.connect(h.document, from, to)),
  disconnect: (h) => actions.disconnect(h.document, h.some(h.graph.wires)),
  reconnectTo: (h) =>
    given(h.one(h.graph.wires), h.input(), (wire, to) => actions.reconnect(h.document, wire, { to })),
  reconnectFrom: (h) =>
    given(h.one(h.graph.wires.filter((wire) => !wire.order)), h.output(), (wire, from) =>
      actions.reconnect(h.document, wire, { from }),
    ),
  bendWire: (h) =>
    given(h.one(h.graph.wires), 0, (wire) =>
      actions.bendWire(h.document, wire, h.some([h.point(), h.point()])),
    ),
  insertOnWire: (h) =>
    given(h.one(h.graph.wires), h.op(), (wire, op) => actions.insertOnWire(h.graph, wire, op, h.point())),
  dropOnWire: (h) =>
    given(h.one(h.graph.wires), h.block(), (wire, name) => actions.dropOnWire(h.graph, wire, name)),
  remove: (h) => actions.removeAll(h.graph, randomItems(h), false),
  heal: (h) => actions.removeAll(h.graph, { blocks: h.some([...h.graph.blocks.keys()]).slice(0, 3) }, true),
  renameBlock: (h) =>
    given(h.block(), 0, (name) =>
      actions.renameBlock(
        h.document,
        name,
        uniqueName(`n${h.below(50)}`, (each) => h.graph.blocks.has(each)),
      ),
    ),
  replaceOp: (h) => given(h.block(), h.op(), (name, op) => actions.replaceOp(h.graph, name, op)),
  setAttr: (h) =>
    given(h.block(), h.one(["ksize", "padding", "other"]), (name, attr) =>
      actions.setAttr(h.graph, name, attr, h.one([h.value(), undefined])),
    ),
  setInput: (h) => given(h.input(), h.value(), (to, value) => actions.setInput(h.document, to, value)),
  unsetInput: (h) => given(h.input(), 0, (to) => actions.setInput(h.document, to, undefined)),
  setAbout: (h) =>
    given(h.block(), h.one(["", "A sentence."]), (name, text) => actions.setAbout(h.document, name, text)),
  setAfter: (h) =>
    given(h.block(), h.block(), (name, other) => actions.setAfter(h.document, name, other, h.below(2) > 0)),
  setOrder: (h) =>
    given(h.block(), h.block(), (name, other) =>
      actions.setOrder(h.document, name, h.one([other, undefined])),
    ),
  moveBy: (h) => actions.moveBy(h.document, h.items(), h.places, h.point()),
  resize: (h) =>
    given(h.one(h.items().filter((each) => !each.startsWith("block/"))), h.rect(), (which, rect) =>
      actions.resize(h.document, which, rect),
    ),
  align: (h) =>
    actions.align(
      h.document,
      actions.rectsOf(h.document, h.items(), h.places),
      h.one(["left", "center", "right", "top", "middle", "bottom"]) ?? "left",
    ),
  distribute: (h) =>
    actions.distribute(
      h.document,
      actions.rectsOf(h.document, h.items(), h.places),
      h.one(["x", "y"]) ?? "x",
    ),
  tidy: (h) => actions.applyLayout(h.graph, columnLayout(layoutInput(h.graph, h.places)), h.places),
  addFrame: (h) => actions.addFrame(h.document, h.some([...h.graph.blocks.keys()]), h.places, "Frame"),
  setFrame: (h) =>
    given(h.one(Object.keys(h.document.frames ?? {})), 0, (name) =>
      actions.setFrame(h.document, name, {
        title: `F${h.below(9)}`,
        blocks: h.some([...h.graph.blocks.keys()]),
      }),
    ),
  addNote: (h) => actions.addNote(h.document, "Note", h.rect()),
  setNote: (h) =>
    given(h.one(Object.keys(h.document.notes ?? {})), 0, (name) =>
      actions.setNote(h.document, name, `Note ${h.below(9)}`),
    ),
  addMonitor: (h) =>
    given(h.output(), h.rect(), (from, rect) =>
      actions.addMonitor(h.document, "trend", [{ pin: keyOf(from) }], rect),
    ),
  setMonitor: (h) =>
    given(h.one(Object.keys(h.document.monitors ?? {})), 0, (name) =>
      actions.setMonitor(h.document, name, { title: `M${h.below(9)}`, low: h.one([0, undefined]) }),
    ),
  toggleShown: (h) =>
    given(h.one(Object.keys(h.document.monitors ?? {})), h.output(), (name, from) =>
      actions.toggleShown(h.document, name, keyOf(from)),
    ),
  setTitle: (h) =>
    actions.setTitle(h.document, h.one(["title", "about"] as const) ?? "title", h.one(["", "Title"]) ?? ""),
  setRun: (h) =>
    actions.setRun(h.document, { steps: h.one([undefined, 5, 50]), seed: h.one([undefined, 1]) }),
  toggleFetch: (h) => given(h.output(), 0, (from) => actions.toggleFetch(h.document, keyOf(from))),
  toggleTarget: (h) => given(h.block(), 0, (name) => actions.toggleTarget(h.document, name)),
  setFeed: (h) =>
    given(h.block(), h.value(), (name, value) =>
      actions.setFeed(h.document, name, h.one([value, undefined])),
    ),
  setPort: (h) =>
    given(h.output(), 0, (from) =>
      actions.setPort(
        h.document,
        h.one(["inputs", "outputs"] as const) ?? "inputs",
        `p${h.below(4)}`,
        h.one([actions.portFor(h.graph, from), undefined]),
      ),
    ),
  paste: (h) =>
    actions.paste(h.document, actions.parseClip(JSON.stringify(example("max_pool_grad_grad"))) ?? {}, {
      at: h.point(),
    }),
  duplicate: (h) => actions.duplicate(h.document, h.items().slice(0, 4), h.places),
  addGradient: (h) => {
    const view = h.one([...h.graph.blocks.values()].filter((each) => actions.gradientsFor(each).length));
    return given(view, view && h.one(actions.gradientsFor(view)), (of, gradient) =>
      actions.addGradient(h.graph, of.name, gradient),
    );
  },
  addGradients: (h) => given(h.output(), h.output(), (y, x) => actions.addGradients(h.graph, [y], [x, y])),
  constantToBlock: (h) => {
    const pin = h.one(
      [...h.graph.blocks.values()].flatMap((view) => view.inputs).filter((each) => each.state === "constant"),
    );
    return given(pin, 0, ({ ref }) => actions.constantToBlock(h.graph, ref));
  },
  usePage: (h) => actions.addPageBlock(h.document, "parts/layer.page.json", h.point()),
  extract: (h) => {
    const names = h.some([...h.graph.blocks.keys()]).slice(0, 4);
    return names.length ? actions.extract(h.graph, names, "parts/part.page.json").action : undefined;
  },
};

function randomItems(hand: RandomPicker) {
  const items = hand.items();
  const of = (kind: actions.ItemKind): string[] => actions.namesOf(items, kind);
  const wires = hand.some(hand.graph.wires.map((wire) => wire.id)).slice(0, 2);
  return { blocks: of("block"), wires, frames: of("frame"), notes: of("note"), monitors: of("monitor") };
}

/** A random action. */
export function randomAction(
  graph: Graph,
  seed: number,
): { name: string; action: actions.Action | undefined } {
  const hand = new RandomPicker(graph, seed);
  const name = hand.one(Object.keys(ALL_ACTIONS)) as string;
  return { name, action: ALL_ACTIONS[name]?.(hand) };
}
