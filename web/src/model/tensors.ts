/** Tensors that the inspector can show: outputs, and constants on the page. */

import { type Action, type Item, namesOf } from "./action.ts";
import type { Json, PageDocument } from "./document.ts";
import { setConstant, setInput } from "./edit-blocks.ts";
import { setFeed } from "./edit-page.ts";
import { type BlockView, type Graph, type InputPin, keyOf } from "./graph.ts";
import { CONST, PLACEHOLDER } from "./ops.ts";

/** A constant on the page, and the action that replaces it. */
export interface Constant {
  readonly value: Json;
  put(document: PageDocument, value: Json): Action;
}

export interface Tensor {
  /** "block:pin", as the server names it. */
  readonly pin: string;
  readonly block: string;
  /** The pin's name without the index in a list. */
  readonly name: string;
  readonly constant?: Constant;
}

/** The tensor of an output, or of an input with a constant. */
export function tensorAt(graph: Graph, pin: string): Tensor | undefined {
  const block = pin.slice(0, pin.indexOf(":"));
  const view = graph.blocks.get(block);
  if (!view) return undefined;
  // A variable in the snapshot of a run is "block:pin@3".
  const now = pin.replace(/@\d+$/, "");
  const output = view.outputs.find((each) => keyOf(each.ref) === now);
  const key = pin.slice(block.length + 1);
  if (output) return { pin, block, name: output.info.name, ...constantOut(view, graph.document) };
  const input = view.inputs.find((each) => each.key === key);
  return input && hasConstant(input)
    ? { pin, block, name: input.info.name, ...constantIn(input) }
    : undefined;
}

function hasConstant(pin: InputPin): boolean {
  return pin.state === "constant" && !pin.more;
}

function constantIn({ ref, value }: InputPin): { constant?: Constant } {
  if (value === undefined) return {};
  return { constant: { value, put: (document, next) => setInput(document, ref, next) } };
}

function constantOut({ op, name, block }: BlockView, document: PageDocument): { constant?: Constant } {
  const value =
    op === CONST ? block.attrs?.value : op === PLACEHOLDER ? document.run?.feeds?.[name] : undefined;
  if (value === undefined) return {};
  const put: Constant["put"] = (now, next) =>
    op === CONST ? setConstant(now, name, next) : setFeed(now, name, next);
  return { constant: { value, put } };
}

/** The tensors of a selection: outputs of blocks, sources of wires, then inputs of blocks. */
export function pinsOf(graph: Graph, selection: ReadonlySet<Item>): string[] {
  const wires = namesOf(selection, "wire").flatMap((id) => graph.byId.get(id) ?? []);
  const views = namesOf(selection, "block").flatMap((name) => graph.blocks.get(name) ?? []);
  const found = new Set<string>();
  for (const view of views) for (const pin of view.outputs) found.add(keyOf(pin.ref));
  for (const wire of wires) if (!wire.order) found.add(wire.source);
  for (const view of views) {
    for (const pin of view.inputs) if (hasConstant(pin)) found.add(`${view.name}:${pin.key}`);
    for (const wire of graph.into.get(view.name) ?? []) if (!wire.order) found.add(wire.source);
  }
  return [...found];
}
