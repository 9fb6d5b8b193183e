/** Everything on a page that names a block or an output, so that it can follow when one is renamed or taken away. */

import {
  INITIAL,
  type InputRef,
  inputKey,
  type Json,
  type MonitorSource,
  type OutputRef,
  readWire,
  wireText,
} from "./document.ts";
import type { Draft } from "./draft.ts";
import { GRADIENTS, PAGE } from "./ops.ts";

/** What a name becomes: another one, null if it is taken away, undefined if it stays. */
export interface Follow {
  /** For a wire that leads to an input. */
  input(from: OutputRef): OutputRef | null | undefined;
  /** For an output that run settings, monitors and ports name. */
  output(from: OutputRef): OutputRef | null | undefined;
  block(name: string): string | null | undefined;
}

/** Lets everything follow but the entries of the blocks themselves. */
export function follow(draft: Draft, map: Follow): void {
  for (const name of Object.keys(draft.blocks)) followInputs(draft, name, map);
  followRun(draft, map);
  followMonitors(draft, map);
  followPorts(draft, map);
  for (const name of Object.keys(draft.frames)) {
    followNames(draft, ["frames", name, "blocks"], map);
  }
  followBends(draft, map);
}

function followInputs(draft: Draft, name: string, map: Follow): void {
  for (const [pin, value] of Object.entries(draft.blocks[name]?.in ?? {})) {
    if (typeof value === "string") followInput(draft, { block: name, pin }, value, map);
    else if (Array.isArray(value)) followList(draft, { block: name, pin }, value as Json[], map);
  }
  const initial = draft.blocks[name]?.initial;
  if (typeof initial === "string") followInput(draft, { block: name, pin: INITIAL }, initial, map);
  followNames(draft, ["blocks", name, "after"], map);
}

function followInput(draft: Draft, to: InputRef, wire: string, map: Follow): void {
  const from = map.input(readWire(wire));
  if (from === null) removeInput(draft, to);
  else if (from) putInput(draft, to, wireText(from));
}

function followList(draft: Draft, to: InputRef, list: readonly Json[], map: Follow): void {
  for (let index = list.length - 1; index >= 0; index--) {
    const wire = list[index];
    if (typeof wire === "string") followInput(draft, { ...to, index }, wire, map);
  }
}

function followNames(draft: Draft, path: readonly string[], map: Follow): void {
  const names = draft.get(path);
  if (!Array.isArray(names)) return;
  const mapped = names.map((name) => (typeof name === "string" ? followed(map.block(name), name) : name));
  if (mapped.some((name, place) => name !== names[place])) {
    draft.putList(path, [...new Set(mapped.filter((name) => name !== null))] as Json[]);
  }
}

function followed<T>(mapped: T | null | undefined, old: T): T | null {
  return mapped === undefined ? old : mapped;
}

function followOutput(text: string, map: Follow): string | null {
  const mapped = map.output(readWire(text));
  return mapped === undefined ? text : mapped && wireText(mapped);
}

function followRun(draft: Draft, map: Follow): void {
  const fetch = draft.document.run?.fetch;
  if (fetch) {
    const mapped = fetch.map((text) => followOutput(text, map));
    if (mapped.some((text, place) => text !== fetch[place])) {
      draft.putList(
        ["run", "fetch"],
        mapped.filter((text) => text !== null),
      );
    }
  }
  followNames(draft, ["run", "targets"], map);
  const until = draft.document.run?.until;
  if (until) {
    const mapped = followOutput(until, map);
    if (mapped === null) draft.remove(["run", "until"]);
    else draft.put(["run", "until"], mapped);
  }
  for (const key of Object.keys(draft.document.run?.feeds ?? {})) {
    const mapped = key.includes(":") ? followOutput(key, map) : followed(map.block(key), key);
    moveKey(draft, ["run", "feeds"], key, mapped);
  }
}

function followMonitors(draft: Draft, map: Follow): void {
  for (const [name, monitor] of Object.entries(draft.document.monitors ?? {})) {
    const shows = monitor.shows ?? [];
    const mapped = shows.map((shown): MonitorSource | null => {
      const pin = followOutput(shown.pin, map);
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

function followPorts(draft: Draft, map: Follow): void {
  for (const side of ["inputs", "outputs"] as const) {
    for (const [name, port] of Object.entries(draft.document.ports?.[side] ?? {})) {
      const pin = followOutput(port.pin, map);
      if (pin === null) draft.remove(["ports", side, name]);
      else draft.put(["ports", side, name, "pin"], pin);
    }
  }
}

function followBends(draft: Draft, map: Follow): void {
  for (const key of Object.keys(draft.document.layout?.wires ?? {})) {
    const { block } = readWire(key);
    const mapped = followed(map.block(block), block);
    moveKey(draft, ["layout", "wires"], key, mapped === null ? null : mapped + key.slice(block.length));
  }
}

/** Renames a key of an object where it stands; takes it away if the new one is null. */
export function moveKey(draft: Draft, path: readonly string[], old: string, to: string | null): void {
  const value = draft.get([...path, old]);
  if (value === undefined || to === old) return;
  if (to === null) {
    draft.remove([...path, old]);
    return;
  }
  const keys = Object.keys(draft.get(path) as object);
  const next = keys[keys.indexOf(old) + 1];
  // Put first: taking away the only entry would take its object away, too.
  draft.put([...path, to], value, next);
  draft.remove([...path, old]);
}

// -- inputs -----------------------------------------------------------------------------------

/**
 * The path of an input in the document. Of a list it is the whole list. What a variable starts from is a field of its
 * own; a page as a block may have a port of that name.
 */
function inputPath(draft: Draft, { block, pin }: InputRef): string[] {
  const { op, in: inputs } = draft.blocks[block] ?? {};
  const field = pin === INITIAL && op !== PAGE && !Object.hasOwn(inputs ?? {}, pin);
  return field ? ["blocks", block, INITIAL] : ["blocks", block, "in", pin];
}

/** Gives an input a wire or a constant. In a list it takes its place, or comes last. */
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

/** Takes away what an input has. In a list those behind it move up, and outputs that stand for them, too. */
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
    moveKey(
      draft,
      ["layout", "wires"],
      `${block}:${inputKey(pin, place)}`,
      `${block}:${inputKey(pin, place - 1)}`,
    );
  }
}

/** A block of gradients has one `dx` for each of its `xs`. */
function moveUpOutputs(draft: Draft, block: string, index: number): void {
  const moved = (from: OutputRef): OutputRef | null | undefined => {
    if (from.block !== block || from.pin !== "dx" || from.index === undefined || from.index < index)
      return undefined;
    return from.index === index ? null : { ...from, index: from.index - 1 };
  };
  follow(draft, { input: moved, output: moved, block: () => undefined });
}
