/** References to blocks and outputs on a page, and how they are rewritten when one is renamed or removed. */

import {
  INITIAL,
  type InputRef,
  inputKey,
  type Json,
  type MonitorSource,
  type OutputRef,
  parseReference,
  referenceText,
} from "./document.ts";
import type { Draft } from "./draft.ts";
import { GRADIENTS, PAGE } from "./ops.ts";

/** Maps a reference to another one, to null if it is removed, to undefined if it is unchanged. */
export interface ReferenceMap {
  /** For the source of a wire. */
  input(from: OutputRef): OutputRef | null | undefined;
  /** For an output in run settings, monitors and ports. */
  output(from: OutputRef): OutputRef | null | undefined;
  block(name: string): string | null | undefined;
}

/** Rewrites all references, but not the entries of the blocks themselves. */
export function rewriteReferences(draft: Draft, map: ReferenceMap): void {
  for (const name of Object.keys(draft.blocks)) rewriteInputs(draft, name, map);
  rewriteRun(draft, map);
  rewriteMonitors(draft, map);
  rewritePorts(draft, map);
  for (const name of Object.keys(draft.frames)) {
    rewriteNames(draft, ["frames", name, "blocks"], map);
  }
  rewriteBends(draft, map);
}

function rewriteInputs(draft: Draft, name: string, map: ReferenceMap): void {
  for (const [pin, value] of Object.entries(draft.blocks[name]?.in ?? {})) {
    if (typeof value === "string") rewriteInput(draft, { block: name, pin }, value, map);
    else if (Array.isArray(value)) rewriteInputList(draft, { block: name, pin }, value as Json[], map);
  }
  const initial = draft.blocks[name]?.initial;
  if (typeof initial === "string") rewriteInput(draft, { block: name, pin: INITIAL }, initial, map);
  rewriteNames(draft, ["blocks", name, "after"], map);
}

function rewriteInput(draft: Draft, to: InputRef, wire: string, map: ReferenceMap): void {
  const from = map.input(parseReference(wire));
  if (from === null) removeInput(draft, to);
  else if (from) putInput(draft, to, referenceText(from));
}

function rewriteInputList(draft: Draft, to: InputRef, list: readonly Json[], map: ReferenceMap): void {
  for (let index = list.length - 1; index >= 0; index--) {
    const wire = list[index];
    if (typeof wire === "string") rewriteInput(draft, { ...to, index }, wire, map);
  }
}

function rewriteNames(draft: Draft, path: readonly string[], map: ReferenceMap): void {
  const names = draft.get(path);
  if (!Array.isArray(names)) return;
  const mapped = names.map((name) => (typeof name === "string" ? mappedOr(map.block(name), name) : name));
  if (mapped.some((name, place) => name !== names[place])) {
    draft.putList(path, [...new Set(mapped.filter((name) => name !== null))] as Json[]);
  }
}

function mappedOr<T>(mapped: T | null | undefined, old: T): T | null {
  return mapped === undefined ? old : mapped;
}

function rewriteOutput(text: string, map: ReferenceMap): string | null {
  const mapped = map.output(parseReference(text));
  return mapped === undefined ? text : mapped && referenceText(mapped);
}

function rewriteRun(draft: Draft, map: ReferenceMap): void {
  const fetch = draft.document.run?.fetch;
  if (fetch) {
    const mapped = fetch.map((text) => rewriteOutput(text, map));
    if (mapped.some((text, place) => text !== fetch[place])) {
      draft.putList(
        ["run", "fetch"],
        mapped.filter((text) => text !== null),
      );
    }
  }
  rewriteNames(draft, ["run", "targets"], map);
  const until = draft.document.run?.until;
  if (until) {
    const mapped = rewriteOutput(until, map);
    if (mapped === null) draft.remove(["run", "until"]);
    else draft.put(["run", "until"], mapped);
  }
  for (const key of Object.keys(draft.document.run?.feeds ?? {})) {
    const mapped = key.includes(":") ? rewriteOutput(key, map) : mappedOr(map.block(key), key);
    renameKey(draft, ["run", "feeds"], key, mapped);
  }
}

function rewriteMonitors(draft: Draft, map: ReferenceMap): void {
  for (const [name, monitor] of Object.entries(draft.document.monitors ?? {})) {
    const shows = monitor.shows ?? [];
    const mapped = shows.map((shown): MonitorSource | null => {
      const pin = rewriteOutput(shown.pin, map);
      return pin === null ? null : pin === shown.pin ? shown : { ...shown, pin };
    });
    if (mapped.every((shown, place) => shown === shows[place])) continue;
    const left = mapped.filter((shown) => shown !== null);
    if (left.length) draft.put(["monitors", name, "shows"], left);
    else {
      draft.remove(["monitors", name]);
      draft.remove(["layout", "monitors", name]);
    }
  }
}

function rewritePorts(draft: Draft, map: ReferenceMap): void {
  for (const side of ["inputs", "outputs"] as const) {
    for (const [name, port] of Object.entries(draft.document.ports?.[side] ?? {})) {
      const pin = rewriteOutput(port.pin, map);
      if (pin === null) draft.remove(["ports", side, name]);
      else draft.put(["ports", side, name, "pin"], pin);
    }
  }
}

function rewriteBends(draft: Draft, map: ReferenceMap): void {
  for (const key of Object.keys(draft.document.layout?.wires ?? {})) {
    const { block } = parseReference(key);
    const mapped = mappedOr(map.block(block), block);
    renameKey(draft, ["layout", "wires"], key, mapped === null ? null : mapped + key.slice(block.length));
  }
}

/** Renames a key of an object in place; removes it if the new one is null. */
export function renameKey(draft: Draft, path: readonly string[], old: string, to: string | null): void {
  const value = draft.get([...path, old]);
  if (value === undefined || to === old) return;
  if (to === null) {
    draft.remove([...path, old]);
    return;
  }
  const keys = Object.keys(draft.get(path) as object);
  const next = keys[keys.indexOf(old) + 1];
  // Put first: removing the only entry would remove its object, too.
  draft.put([...path, to], value, next);
  draft.remove([...path, old]);
}

// -- inputs -----------------------------------------------------------------------------------

/**
 * The path of an input in the document; of a list input, that of the whole list. The initial value of a variable is a
 * field of its own, but a page block may have a port of that name.
 */
function inputPath(draft: Draft, { block, pin }: InputRef): string[] {
  const { op, in: inputs } = draft.blocks[block] ?? {};
  const field = pin === INITIAL && op !== PAGE && !Object.hasOwn(inputs ?? {}, pin);
  return field ? ["blocks", block, INITIAL] : ["blocks", block, "in", pin];
}

/** Sets a wire or a constant of an input; in a list, that of its index or a new last one. */
export function putInput(draft: Draft, to: InputRef, value: Json): void {
  const path = inputPath(draft, to);
  if (to.index === undefined) {
    draft.put(path, value);
    return;
  }
  const old = draft.get(path);
  const list = Array.isArray(old) ? [...(old as Json[])] : old === undefined ? [] : [old];
  list[Math.min(to.index, list.length)] = value;
  draft.put(path, list);
}

/** Removes the value of an input. In a list, later elements move up, and so do the outputs of a gradients block. */
export function removeInput(draft: Draft, to: InputRef): void {
  const path = inputPath(draft, to);
  const { block, pin, index } = to;
  if (index === undefined) {
    draft.remove(path);
    draft.remove(["layout", "wires", `${block}:${pin}`]);
    return;
  }
  const list = draft.get(path);
  if (!Array.isArray(list) || index >= list.length) return;
  draft.putList(path, list.toSpliced(index, 1) as Json[]);
  moveUpBends(draft, block, pin, index, list.length);
  if (draft.blocks[block]?.op === GRADIENTS && pin === "xs") moveUpOutputs(draft, block, index);
}

function moveUpBends(draft: Draft, block: string, pin: string, index: number, length: number): void {
  draft.remove(["layout", "wires", `${block}:${inputKey(pin, index)}`]);
  for (let place = index + 1; place < length; place++) {
    renameKey(
      draft,
      ["layout", "wires"],
      `${block}:${inputKey(pin, place)}`,
      `${block}:${inputKey(pin, place - 1)}`,
    );
  }
}

/** Renumbers outputs of a gradients block, which has one `dx` for each of its `xs`. */
function moveUpOutputs(draft: Draft, block: string, index: number): void {
  const moved = (from: OutputRef): OutputRef | null | undefined => {
    if (from.block !== block || from.pin !== "dx" || from.index === undefined || from.index < index)
      return undefined;
    return from.index === index ? null : { ...from, index: from.index - 1 };
  };
  rewriteReferences(draft, { input: moved, output: moved, block: () => undefined });
}
