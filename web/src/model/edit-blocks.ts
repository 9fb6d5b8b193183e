/** Actions on blocks: add, remove, rename, replace the op, set attributes and inputs. */

import { type Action, type AddAction, item, type Label } from "./action.ts";
import {
  INITIAL,
  type InputRef,
  inputKey,
  type Json,
  type OutputRef,
  type PageBlock,
  type PageDocument,
  parseReference,
} from "./document.ts";
import { Draft } from "./draft.ts";
import { type Point, snapToGrid } from "./geometry.ts";
import type { BlockView, Graph } from "./graph.ts";
import { linkedGradients } from "./linked-gradients.ts";
import { uniqueName } from "./names.ts";
import { type AttrInfo, CONST, GRADIENTS, isList, type OpInfo, snakeName, VARIABLE } from "./ops.ts";
import { putInput, removeInput, renameKey, rewriteReferences } from "./references.ts";

export function actionOf(draft: Draft, label: Label): Action {
  return { label, edits: draft.edits };
}

// -- adding -----------------------------------------------------------------------------------

/** Adds a block under a free name, which is returned. */
export function putBlock(draft: Draft, block: PageBlock, at: Point, wanted = snakeName(block.op)): string {
  const name = uniqueName(wanted, (each) => Object.hasOwn(draft.blocks, each));
  draft.put(["blocks", name], block);
  draft.put(["layout", "blocks", name], [snapToGrid(at.x), snapToGrid(at.y)]);
  return name;
}

/** A new block of an op, with initial values of required attributes. */
export function newBlock(info: OpInfo): PageBlock {
  if (info.name === CONST) return { op: CONST, attrs: { value: { dtype: "float32", value: 0 } } };
  if (info.name === VARIABLE) return { op: VARIABLE, [INITIAL]: { dtype: "float32", value: 0 } };
  const example = exampleOf(info);
  const attrs: Record<string, Json> = {};
  for (const attr of info.attrs) {
    const start = attr.required ? (example?.attrs?.[attr.name] ?? startOf(attr)) : undefined;
    if (start !== undefined) attrs[attr.name] = start;
  }
  return Object.keys(attrs).length ? { op: info.name, attrs } : { op: info.name };
}

/** The block of the op in its first worked case, whose attributes are consistent. */
function exampleOf(info: OpInfo): PageBlock | undefined {
  const blocks = Object.values(info.cases[0]?.page.blocks ?? {});
  return blocks.find((block) => block.op === info.name);
}

function startOf(attr: AttrInfo): Json | undefined {
  if (attr.kind === "dtype") return attr.options.includes("float32") ? "float32" : attr.options[0];
  return attr.kind === "choice" ? attr.options[0] : undefined;
}

export function addBlock(
  document: PageDocument,
  info: OpInfo,
  at: Point,
  start?: PageBlock,
  name?: string,
): AddAction {
  const draft = new Draft(document);
  const added = putBlock(draft, start ?? newBlock(info), at, name);
  return { ...actionOf(draft, { kind: "add block", name: added }), added: [item("block", added)] };
}

// -- removing ---------------------------------------------------------------------------------

/**
 * Removes blocks and all references to them. With `heal`, consumers of a removed block are connected to its input of
 * the same type.
 */
export function removeBlocks(draft: Draft, graph: Graph, names: Iterable<string>, heal: boolean): void {
  const removed = new Set(names);
  removeEntries(draft, removed);
  const gone = (from: OutputRef): null | undefined => (removed.has(from.block) ? null : undefined);
  rewriteReferences(draft, {
    input: (from) => (removed.has(from.block) && heal ? healed(graph, removed, from) : gone(from)),
    output: gone,
    block: (name) => (removed.has(name) ? null : undefined),
  });
}

/** Removes blocks, but no references to them. */
export function removeEntries(draft: Draft, names: Iterable<string>): void {
  for (const name of names) {
    draft.remove(["blocks", name]);
    draft.remove(["layout", "blocks", name]);
  }
}

/** The output that replaces one of a removed block; null if there is none. */
function healed(graph: Graph, removed: ReadonlySet<string>, from: OutputRef): OutputRef | null {
  const seen = new Set<string>();
  let here: OutputRef = from;
  while (removed.has(here.block)) {
    const view = graph.blocks.get(here.block);
    const source = view && !seen.has(here.block) ? passedThrough(view, here) : undefined;
    if (!source) return null;
    seen.add(here.block);
    here = source;
  }
  return here;
}

/** The source of the first wired input that has the type of an output. */
function passedThrough(view: BlockView, from: OutputRef): OutputRef | undefined {
  const output =
    from.pin === undefined ? view.outputs[0] : view.outputs.find((pin) => pin.info.name === from.pin);
  const wired = view.inputs.filter((pin) => pin.state === "wired");
  const fitting = output ? wired.find((pin) => pin.info.type === output.info.type) : wired[0];
  return fitting && parseReference(fitting.value as string);
}

// -- renaming ---------------------------------------------------------------------------------

/** Renames a block and all references to it. The new name must be free. */
export function renameBlock(document: PageDocument, old: string, name: string): Action {
  const draft = new Draft(document);
  const moved = (from: OutputRef): OutputRef | undefined =>
    from.block === old ? { ...from, block: name } : undefined;
  rewriteReferences(draft, {
    input: moved,
    output: moved,
    block: (each) => (each === old ? name : undefined),
  });
  renameKey(draft, ["blocks"], old, name);
  renameKey(draft, ["layout", "blocks"], old, name);
  return actionOf(draft, { kind: "rename", name });
}

// -- attributes and inputs --------------------------------------------------------------------

/** Sets an attribute; undefined resets it to its default. Gradient blocks that are linked to the block follow. */
export function setAttr(graph: Graph, block: string, name: string, value: Json | undefined): Action {
  const draft = new Draft(graph.document);
  putAttr(draft, graph, block, name, value);
  return actionOf(draft, { kind: value === undefined ? "unset" : "set", name: `${block}.${name}` });
}

/** Sets the value of a Const, which has its dtype. */
export function setConstant(document: PageDocument, block: string, value: Json): Action {
  const draft = new Draft(document);
  putConstant(draft, block, value);
  return actionOf(draft, { kind: "set", name: `${block}.value` });
}

export function putConstant(draft: Draft, block: string, value: Json): void {
  draft.put(["blocks", block, "attrs", "value"], value);
  draft.remove(["blocks", block, "attrs", "dtype"]);
}

export function putAttr(
  draft: Draft,
  graph: Graph,
  block: string,
  name: string,
  value: Json | undefined,
): void {
  if (graph.blocks.get(block)?.op === CONST && name === "value" && value !== undefined) {
    putConstant(draft, block, value);
    return;
  }
  for (const each of [block, ...linkedGradients(graph, block, name)]) {
    const path = ["blocks", each, "attrs", name];
    if (value === undefined) draft.remove(path);
    else draft.put(path, value);
  }
}

/** Sets the constant of an input, or the initial value of a variable; undefined removes it. */
export function setInput(document: PageDocument, to: InputRef, value: Json | undefined): Action {
  const draft = new Draft(document);
  if (value === undefined) removeInput(draft, to);
  else putInput(draft, to, value);
  const name = `${to.block}.${inputKey(to.pin, to.index)}`;
  return actionOf(draft, { kind: value === undefined ? "unset" : "set", name });
}

export function setAbout(document: PageDocument, block: string, about: string): Action {
  const draft = new Draft(document);
  if (about) draft.put(["blocks", block, "about"], about);
  else draft.remove(["blocks", block, "about"]);
  return actionOf(draft, { kind: "about", name: block });
}

/** Adds or removes a control dependency: this block runs after the other. */
export function setAfter(document: PageDocument, block: string, other: string, on: boolean): Action {
  const draft = new Draft(document);
  const others = (draft.blocks[block]?.after ?? []).filter((each) => each !== other);
  draft.putList(["blocks", block, "after"], on ? [...others, other] : others);
  return actionOf(draft, { kind: "order", name: block });
}

/** Moves a block before another in document order, which is the order of writes to variables; last without one. */
export function setOrder(document: PageDocument, block: string, before?: string): Action {
  const draft = new Draft(document);
  const value = draft.blocks[block];
  if (value && before !== block) {
    draft.remove(["blocks", block]);
    draft.put(["blocks", block], value, before);
  }
  return actionOf(draft, { kind: "order", name: block });
}

/** Replaces the op of a block; inputs and attributes that both ops have are kept. */
export function replaceOp(graph: Graph, block: string, info: OpInfo): Action {
  const draft = new Draft(graph.document);
  const old = draft.blocks[block];
  const fresh = newBlock(info);
  const inputs = new Set(info.inputs.map((pin) => pin.name));
  const attrs = new Set(info.attrs.map((attr) => attr.name));
  draft.put(["blocks", block, "op"], info.name);
  for (const pin of Object.keys(old?.in ?? {}))
    if (!inputs.has(pin)) draft.remove(["blocks", block, "in", pin]);
  for (const name of Object.keys(old?.attrs ?? {}))
    if (!attrs.has(name)) draft.remove(["blocks", block, "attrs", name]);
  for (const [name, value] of Object.entries(fresh.attrs ?? {})) {
    if (old?.attrs?.[name] === undefined) draft.put(["blocks", block, "attrs", name], value);
  }
  rewriteOutputs(draft, graph, block, info);
  return actionOf(draft, { kind: "set", name: `${block}.op` });
}

/** Consumers of the old outputs get those of the new op, by position. */
function rewriteOutputs(draft: Draft, graph: Graph, block: string, info: OpInfo): void {
  const old = [...new Set(graph.blocks.get(block)?.outputs.map((pin) => pin.info.name))];
  const moved = (from: OutputRef): OutputRef | null | undefined => {
    if (from.block !== block || from.pin === undefined) return undefined;
    // A gradients block has one output for each of its xs, of which there are none yet.
    const output = info.name === GRADIENTS ? undefined : info.outputs[old.indexOf(from.pin)];
    const index = from.index ?? 0;
    if (!output || (index > 0 && !isList(output))) return null;
    return isList(output) ? { block, pin: output.name, index } : { block, pin: output.name };
  };
  rewriteReferences(draft, { input: moved, output: moved, block: () => undefined });
}
