/**
 * The graph of a page: blocks with resolved pins, and wires between them, as the view and actions use it.
 *
 * Blocks of the document are immutable, so that the view of a block is memoised.
 */

import type { Checked, Problem, Spec } from "../net/generated.ts";
import {
  INITIAL,
  type InputRef,
  inputKey,
  isObject,
  isTyped,
  type Json,
  type OutputRef,
  type PageBlock,
  type PageDocument,
  parseReference,
} from "./document.ts";
import {
  type AttrInfo,
  CONST,
  GRADIENTS,
  isList,
  isOptional,
  type OpInfo,
  type Ops,
  PAGE,
  type PinInfo,
  VARIABLE,
} from "./ops.ts";

export type PinState =
  /** A wire leads to it. */
  | "wired"
  /** It has a constant. */
  | "constant"
  /** It is optional, and has no value. */
  | "open"
  /** It is required, and has no value. */
  | "missing";

export interface InputPin {
  /** The pin's name, with the index if it is a list: "values[1]". */
  readonly key: string;
  readonly ref: InputRef;
  readonly info: PinInfo;
  readonly state: PinState;
  readonly value?: Json;
  /** Whether it is the empty slot after the last element of a list. */
  readonly more: boolean;
}

export interface OutputPin {
  readonly key: string;
  readonly ref: Required<Pick<OutputRef, "block" | "pin">> & OutputRef;
  readonly info: PinInfo;
}

export interface AttrRow {
  readonly name: string;
  /** Undefined if the op has no such attribute, which is then kept and shown as text. */
  readonly info?: AttrInfo;
  /** The value on the page, or else the default. */
  readonly value?: Json;
  readonly set: boolean;
  readonly missing: boolean;
}

export type BlockKind = "op" | "gradients" | "page" | "unknown";

export interface BlockView {
  readonly name: string;
  readonly op: string;
  readonly kind: BlockKind;
  readonly block: PageBlock;
  readonly info?: OpInfo;
  readonly inputs: readonly InputPin[];
  readonly outputs: readonly OutputPin[];
  /** Attributes that are shown in the block: set or required ones. */
  readonly rows: readonly AttrRow[];
  /** Attributes at their default. */
  readonly rest: readonly AttrRow[];
  readonly after: readonly string[];
}

/** A constant of an input or of an attribute. */
export interface Constant {
  readonly name: string;
  readonly value: Json | undefined;
  readonly input?: InputRef;
}

export function constantsOf(view: BlockView): Constant[] {
  return [
    ...view.inputs
      .filter(({ state, more }) => state === "constant" && !more)
      .map(({ key, value, ref }) => ({ name: key, value, input: ref })),
    ...view.rows.filter(({ info }) => info?.kind === "tensor").map(({ name, value }) => ({ name, value })),
  ];
}

export interface Wire {
  /** Its input, "block:pin", which has no other wire; "block<other" for a control dependency. */
  readonly id: string;
  readonly from: OutputRef;
  /** The key of its output, as in `checked` and results: "block:pin". */
  readonly source: string;
  readonly to: InputRef;
  /** Whether it is a control dependency: one block runs after the other. */
  readonly order: boolean;
}

export interface Graph {
  readonly document: PageDocument;
  readonly ops: Ops;
  readonly checked?: Checked;
  readonly blocks: ReadonlyMap<string, BlockView>;
  readonly wires: readonly Wire[];
  readonly byId: ReadonlyMap<string, Wire>;
  readonly into: ReadonlyMap<string, readonly Wire[]>;
  readonly outOf: ReadonlyMap<string, readonly Wire[]>;
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
}

/** The graph of a document. Views of unchanged blocks are reused from `before`. */
export function graphOf(document: PageDocument, ops: Ops, checked?: Checked, before?: Graph): Graph {
  const lengths = lengthsOfLists(document, checked);
  const usable = before?.ops === ops ? before : undefined;
  const blocks = new Map<string, BlockView>();
  for (const [name, block] of Object.entries(document.blocks ?? {})) {
    blocks.set(name, viewOf(name, block, ops, checked, lengths.get(name), usable?.blocks.get(name)));
  }
  const wires: Wire[] = [];
  for (const view of blocks.values()) addWires(view, blocks, wires);
  return {
    document,
    ops,
    ...(checked && { checked }),
    blocks,
    wires,
    byId: new Map(wires.map((wire) => [wire.id, wire])),
    into: grouped(wires, (wire) => wire.to.block),
    outOf: grouped(wires, (wire) => wire.from.block),
    problems: grouped(checked?.problems ?? [], (problem) => problem.block ?? ""),
  };
}

function grouped<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = key(item);
    const group = groups.get(name);
    if (group) group.push(item);
    else groups.set(name, [item]);
  }
  return groups;
}

// -- blocks -----------------------------------------------------------------------------------

/** The lengths of list outputs, as the server inferred them or as wires need them. */
type Lengths = ReadonlyMap<string, number>;

function lengthsOfLists(document: PageDocument, checked?: Checked): Map<string, Lengths> {
  const found = new Map<string, Map<string, number>>();
  const note = (text: string): void => {
    if (!text.endsWith("]")) return;
    const { block, pin, index } = parseReference(text);
    if (pin === undefined || index === undefined) return;
    const pins = found.get(block) ?? new Map<string, number>();
    found.set(block, pins.set(pin, Math.max(pins.get(pin) ?? 0, index + 1)));
  };
  for (const key of Object.keys(checked?.pins ?? {})) note(key);
  for (const block of Object.values(document.blocks ?? {})) {
    for (const value of Object.values(block.in ?? {}))
      for (const each of asList(value)) if (typeof each === "string") note(each);
  }
  return found;
}

function asList(value: Json | undefined): readonly Json[] {
  return value === undefined ? [] : Array.isArray(value) ? (value as readonly Json[]) : [value];
}

const remembered = new WeakMap<BlockView, string>();

function viewOf(
  name: string,
  block: PageBlock,
  ops: Ops,
  checked: Checked | undefined,
  lengths: Lengths | undefined,
  before: BlockView | undefined,
): BlockView {
  const info = ops.get(block.op);
  const ports = block.op === PAGE ? portsOf(name, block, checked) : undefined;
  const key = (lengths ? JSON.stringify([...lengths]) : "") + (ports ? JSON.stringify(ports) : "");
  if (before && before.block === block && remembered.get(before) === key) return before;
  const inputs = inputPins(name, block, info, ports?.inputs);
  const outputs = outputPins(name, block, info, lengths, ports?.outputs);
  const attrs = attrRows(block, info);
  const view: BlockView = {
    name,
    op: block.op,
    kind: block.op === GRADIENTS || block.op === PAGE ? block.op : info ? "op" : "unknown",
    block,
    ...(info && { info }),
    inputs,
    outputs,
    rows: attrs.filter((row) => row.set || row.missing),
    rest: attrs.filter((row) => !row.set && !row.missing),
    after: Array.isArray(block.after) ? block.after : [],
  };
  remembered.set(view, key);
  return view;
}

/** The pins of a page block: those that the server reported, and those that are wired already. */
function portsOf(name: string, block: PageBlock, checked?: Checked): { inputs: string[]; outputs: string[] } {
  const inputs = new Set([...(checked?.inputs[name] ?? []), ...Object.keys(block.in ?? {})]);
  const outputs = Object.keys(checked?.pins ?? {})
    .filter((key) => key.startsWith(`${name}:`))
    .map((key) => key.slice(name.length + 1));
  return { inputs: [...inputs], outputs };
}

const ANY_PIN = { count: "one", type: "", dtypes: [], ranks: null } as const;

function inputPins(name: string, block: PageBlock, info: OpInfo | undefined, ports?: string[]): InputPin[] {
  const given = isObject(block.in) ? block.in : {};
  const known: readonly PinInfo[] = ports?.map((port) => ({ ...ANY_PIN, name: port })) ?? info?.inputs ?? [];
  const names = new Set(known.map((pin) => pin.name));
  const others = Object.entries(given)
    .filter(([pin]) => !names.has(pin))
    .map(([pin, value]) => ({
      ...ANY_PIN,
      name: pin,
      count: isListOfWires(value) ? ("list" as const) : ("one" as const),
    }));
  const pins = [...known, ...others].flatMap((pin) =>
    pinsOfInput(name, block, pin, given[pin.name] as Json | undefined),
  );
  if (block.op === VARIABLE || block.initial !== undefined) pins.push(initialPin(name, block));
  return pins;
}

function isListOfWires(value: unknown): boolean {
  return Array.isArray(value) && value.some((each) => typeof each === "string");
}

function pinsOfInput(block: string, of: PageBlock, info: PinInfo, value: Json | undefined): InputPin[] {
  const needed = !isOptional(of.op, info);
  if (!isList(info)) {
    const state = stateOf(value, needed);
    return [
      {
        key: info.name,
        ref: { block, pin: info.name },
        info,
        state,
        ...(value !== undefined && { value }),
        more: false,
      },
    ];
  }
  const items = asList(value);
  const pins: InputPin[] = items.map((each, index) => ({
    key: inputKey(info.name, index),
    ref: { block, pin: info.name, index },
    info,
    state: stateOf(each, needed),
    value: each,
    more: false,
  }));
  const index = items.length;
  const state = index === 0 && needed ? "missing" : "open";
  pins.push({
    key: inputKey(info.name, index),
    ref: { block, pin: info.name, index },
    info,
    state,
    more: true,
  });
  return pins;
}

function stateOf(value: Json | undefined, needed: boolean): PinState {
  if (value === undefined || value === null) return needed ? "missing" : "open";
  return typeof value === "string" ? "wired" : "constant";
}

function initialPin(name: string, block: PageBlock): InputPin {
  const needed = !(block.attrs && "dtype" in block.attrs && "shape" in block.attrs);
  const dtype = typeof block.attrs?.dtype === "string" ? [block.attrs.dtype] : [];
  return {
    key: INITIAL,
    ref: { block: name, pin: INITIAL },
    info: { ...ANY_PIN, name: INITIAL, dtypes: dtype },
    state: stateOf(block.initial, needed),
    ...(block.initial !== undefined && { value: block.initial }),
    more: false,
  };
}

function outputPins(
  name: string,
  block: PageBlock,
  info: OpInfo | undefined,
  lengths: Lengths | undefined,
  ports?: string[],
): OutputPin[] {
  if (ports) return ports.map((port) => outputPin(name, { ...ANY_PIN, name: port }));
  return (info?.outputs ?? []).flatMap((pin) => {
    if (!isList(pin)) return [outputPin(name, pin)];
    const length =
      block.op === GRADIENTS ? asList(block.in?.xs).length : Math.max(lengths?.get(pin.name) ?? 0, 1);
    return Array.from({ length }, (_, index) => outputPin(name, pin, index));
  });
}

function outputPin(block: string, info: PinInfo, index?: number): OutputPin {
  const ref = index === undefined ? { block, pin: info.name } : { block, pin: info.name, index };
  return { key: inputKey(info.name, index), ref, info };
}

function attrRows(block: PageBlock, info: OpInfo | undefined): AttrRow[] {
  const given = block.op === CONST ? withTypedValue(block.attrs) : isObject(block.attrs) ? block.attrs : {};
  const attrs = (info?.attrs ?? []).filter(({ name }) => block.op !== CONST || name !== "dtype");
  const known = attrs.map((attr): AttrRow => {
    const set = Object.hasOwn(given, attr.name);
    const value = set ? given[attr.name] : attr.default;
    return {
      name: attr.name,
      info: attr,
      ...(value !== undefined && { value: value as Json }),
      set,
      missing: isMissing(block, attr, set),
    };
  });
  const names = new Set(known.map((row) => row.name));
  const others = Object.entries(given)
    .filter(([name]) => !names.has(name))
    .map(([name, value]): AttrRow => ({ name, value: value as Json, set: true, missing: false }));
  return [...known, ...others];
}

/** The attributes of a Const with its dtype where the constant has it, in one place. */
function withTypedValue(attrs: PageBlock["attrs"]): Readonly<Record<string, Json>> {
  const { dtype, value, ...others } = isObject(attrs) ? attrs : {};
  if (value === undefined) return others;
  const typed = typeof dtype !== "string" || (isObject(value) && isTyped(value as Json));
  return { ...others, value: typed ? value : { dtype, value } };
}

/** Constants and variables with a value need no dtype and shape. */
function isMissing(block: PageBlock, attr: AttrInfo, set: boolean): boolean {
  if (set || !attr.required) return false;
  if (block.op === CONST) return attr.name === "value";
  if (block.op === VARIABLE) return block.initial === undefined || typeof block.initial === "string";
  return true;
}

// -- wires ------------------------------------------------------------------------------------

function addWires(view: BlockView, blocks: ReadonlyMap<string, BlockView>, wires: Wire[]): void {
  for (const pin of view.inputs) {
    if (typeof pin.value !== "string") continue;
    const from = resolved(parseReference(pin.value), blocks);
    if (from)
      wires.push({ id: `${view.name}:${pin.key}`, from, source: keyOf(from), to: pin.ref, order: false });
  }
  for (const other of view.after) {
    if (!blocks.has(other)) continue;
    wires.push({
      id: `${view.name}<${other}`,
      from: { block: other },
      source: other,
      to: { block: view.name, pin: "" },
      order: true,
    });
  }
}

/** The output of a reference, with its pin; undefined if there is no such block. */
export function resolved(from: OutputRef, blocks: ReadonlyMap<string, BlockView>): OutputRef | undefined {
  const view = blocks.get(from.block);
  if (!view) return undefined;
  if (from.pin !== undefined) return from;
  return view.outputs[0]?.ref ?? from;
}

export function keyOf(from: OutputRef): string {
  return from.pin === undefined ? from.block : `${from.block}:${inputKey(from.pin, from.index)}`;
}

/** The inferred type of an output. */
export function specOf(graph: Graph, source: string): Spec | undefined {
  return graph.checked?.pins[source];
}

export function inputPin(graph: Graph, ref: InputRef): InputPin | undefined {
  const key = inputKey(ref.pin, ref.index);
  return graph.blocks.get(ref.block)?.inputs.find((pin) => pin.key === key);
}

export function outputPinOf(graph: Graph, ref: OutputRef): OutputPin | undefined {
  const outputs = graph.blocks.get(ref.block)?.outputs;
  return ref.pin === undefined
    ? outputs?.[0]
    : outputs?.find((pin) => pin.key === inputKey(ref.pin as string, ref.index));
}

// -- reachability -----------------------------------------------------------------------------

export type Direction = "upstream" | "downstream" | "connected";

/** The blocks that can be reached from these, with themselves. */
export function reach(graph: Graph, from: Iterable<string>, direction: Direction): Set<string> {
  const found = new Set(from);
  const left = [...found];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    const next = [
      ...(direction === "downstream" ? [] : (graph.into.get(name) ?? []).map((wire) => wire.from.block)),
      ...(direction === "upstream" ? [] : (graph.outOf.get(name) ?? []).map((wire) => wire.to.block)),
    ];
    for (const each of next) {
      if (!found.has(each)) {
        found.add(each);
        left.push(each);
      }
    }
  }
  return found;
}

/** The depth of each block: its longest distance from a source. Cycles are cut at one of their wires. */
export function depths(graph: Graph): Map<string, number> {
  const depth = new Map<string, number>();
  const entered = new Set<string>();
  for (const start of graph.blocks.keys()) {
    const stack = [start];
    while (stack.length) {
      const name = stack.at(-1) as string;
      const needed = (graph.into.get(name) ?? []).map((wire) => wire.from.block);
      const open = entered.has(name) ? [] : needed.filter((each) => !depth.has(each) && !entered.has(each));
      entered.add(name);
      if (open.length) stack.push(...open);
      else {
        stack.pop();
        if (!depth.has(name))
          depth.set(name, Math.max(-1, ...needed.map((each) => depth.get(each) ?? -1)) + 1);
      }
    }
  }
  return depth;
}
