/** Actions on wires: connect, disconnect, reconnect, insert a block, bend. */

import { type Action, type AddAction, item } from "./action.ts";
import { bestInput, bestOutput } from "./connections.ts";
import { type InputRef, inputKey, type OutputRef, type PageDocument, referenceText } from "./document.ts";
import { Draft } from "./draft.ts";
import { actionOf, newBlock, putBlock, removeBlocks } from "./edit-blocks.ts";
import { type Point, snapToGrid } from "./geometry.ts";
import { type Graph, graphOf, inputPin, outputPinOf, type Wire } from "./graph.ts";
import type { OpInfo } from "./ops.ts";
import { putInput, removeInput } from "./references.ts";

export function connect(document: PageDocument, from: OutputRef, to: InputRef): Action {
  const draft = new Draft(document);
  putInput(draft, to, referenceText(from));
  return actionOf(draft, { kind: "connect", name: `${to.block}.${inputKey(to.pin, to.index)}` });
}

export function disconnect(document: PageDocument, wires: Iterable<Wire>): Action {
  const draft = new Draft(document);
  const all = [...wires];
  removeWires(draft, all);
  return actionOf(draft, { kind: "disconnect", count: all.length });
}

/** Removes wires from the end of each list input, so that indices stay valid. */
export function removeWires(draft: Draft, wires: readonly Wire[]): void {
  for (const wire of [...wires].sort((a, b) => (b.to.index ?? 0) - (a.to.index ?? 0))) {
    const { block } = wire.to;
    if (!wire.order) removeInput(draft, wire.to);
    else {
      const left = (draft.blocks[block]?.after ?? []).filter((each) => each !== wire.from.block);
      draft.putList(["blocks", block, "after"], left);
    }
  }
}

/** Moves an end of a wire to another pin. Control dependencies have no pins to move. */
export function reconnect(
  document: PageDocument,
  wire: Wire,
  ends: { from?: OutputRef; to?: InputRef },
): Action {
  const draft = new Draft(document);
  const to = ends.to ?? wire.to;
  const name = `${to.block}:${inputKey(to.pin, to.index)}`;
  if (!wire.order) {
    // The new end first: removing the old input may remove an output of a gradients block.
    putInput(draft, to, referenceText(ends.from ?? wire.from));
    if (name !== wire.id) removeInput(draft, wire.to);
  }
  return actionOf(draft, { kind: "connect", name: `${to.block}.${inputKey(to.pin, to.index)}` });
}

/** Sets the bend points of a wire. Control dependencies are straight. */
export function bendWire(document: PageDocument, wire: Wire, points: readonly Point[]): Action {
  const draft = new Draft(document);
  const places = points.map((point) => [snapToGrid(point.x), snapToGrid(point.y)]);
  if (!wire.order) draft.putList(["layout", "wires", wire.id], places);
  return actionOf(draft, { kind: "bend", name: wire.id });
}

/** Inserts a new block on a wire, at its best pins. */
export function insertOnWire(graph: Graph, wire: Wire, info: OpInfo, at: Point): AddAction {
  const draft = new Draft(graph.document);
  const name = putBlock(draft, newBlock(info), at);
  putBetween(draft, graph, wire, name);
  return { ...actionOf(draft, { kind: "insert", name }), added: [item("block", name)] };
}

/** Inserts an existing block on a wire. */
export function dropOnWire(graph: Graph, wire: Wire, name: string): Action {
  const draft = new Draft(graph.document);
  putBetween(draft, graph, wire, name);
  return actionOf(draft, { kind: "insert", name });
}

function putBetween(draft: Draft, graph: Graph, wire: Wire, name: string): void {
  if (wire.order) {
    putInOrder(draft, wire, name);
    return;
  }
  const now = graphOf(draft.document, graph.ops, graph.checked, graph);
  const input = bestInput(now, wire.from, name);
  const target = inputPin(now, wire.to);
  const output = target && bestOutput(now, name, target);
  if (input) putInput(draft, input.ref, referenceText(wire.from));
  if (output) putInput(draft, wire.to, referenceText(output.ref));
  draft.remove(["layout", "wires", wire.id]);
}

/** Inserts a block into a control dependency. */
function putInOrder(draft: Draft, wire: Wire, name: string): void {
  const { block } = wire.to;
  if (name === block || name === wire.from.block) return;
  const after = (draft.blocks[block]?.after ?? []).map((each) => (each === wire.from.block ? name : each));
  draft.put(["blocks", block, "after"], [...new Set(after)]);
  draft.put(["blocks", name, "after"], [...new Set([...(draft.blocks[name]?.after ?? []), wire.from.block])]);
}

/** Adds a block, connected to an output or an input at its best pin. */
export function addConnected(
  graph: Graph,
  info: OpInfo,
  at: Point,
  end: { from: OutputRef } | { to: InputRef },
  pin?: string,
): AddAction {
  const draft = new Draft(graph.document);
  const name = putBlock(draft, newBlock(info), at);
  const now = graphOf(draft.document, graph.ops, graph.checked, graph);
  const view = now.blocks.get(name);
  if ("from" in end) {
    const named = view?.inputs.find((each) => each.info.name === pin);
    const input = named ?? bestInput(now, end.from, name);
    if (input) putInput(draft, input.ref, referenceText(outputPinOf(now, end.from)?.ref ?? end.from));
  } else {
    const target = inputPin(now, end.to);
    const named = view?.outputs.find((each) => each.info.name === pin);
    const output = named ?? (target && bestOutput(now, name, target));
    if (output) putInput(draft, end.to, referenceText(output.ref));
  }
  return { ...actionOf(draft, { kind: "add block", name }), added: [item("block", name)] };
}

/** Removes blocks, wires, frames, notes and monitors in one undo step. */
export function removeAll(
  graph: Graph,
  what: {
    blocks?: readonly string[];
    wires?: readonly string[];
    frames?: readonly string[];
    notes?: readonly string[];
    monitors?: readonly string[];
  },
  heal = false,
): Action {
  const draft = new Draft(graph.document);
  const wires = (what.wires ?? []).map((id) => graph.byId.get(id)).filter((wire) => wire !== undefined);
  removeWires(draft, wires);
  if (what.blocks?.length)
    removeBlocks(draft, graphOf(draft.document, graph.ops, graph.checked, graph), what.blocks, heal);
  for (const kind of ["frames", "notes", "monitors"] as const) {
    for (const name of what[kind] ?? []) {
      draft.remove([kind, name]);
      draft.remove(["layout", kind, name]);
    }
  }
  const all = Object.values(what).flat();
  const [first] = all;
  return actionOf(
    draft,
    first !== undefined && all.length === 1
      ? { kind: "remove", name: first }
      : { kind: "remove", count: all.length },
  );
}
