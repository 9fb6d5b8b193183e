/** Connection rules: which outputs can be wired to which inputs, by dtype, rank and state, and why others cannot. */

import type { Spec } from "../net/generated.ts";
import { type InputRef, type OutputRef, parseReference } from "./document.ts";
import {
  type BlockView,
  type Graph,
  type InputPin,
  inputPin,
  keyOf,
  type OutputPin,
  outputPinOf,
  reach,
  resolved,
  specOf,
} from "./graph.ts";
import { type OpInfo, PAGE, type PinInfo } from "./ops.ts";

/** Why a connection is invalid; the dictionaries have the words. */
export type ConnectionError =
  | { readonly kind: "dtype"; readonly got: readonly string[]; readonly expected: readonly string[] }
  | { readonly kind: "same type"; readonly got: readonly string[]; readonly expected: readonly string[] }
  | { readonly kind: "rank"; readonly got: number; readonly expected: readonly number[] }
  | { readonly kind: "variable" }
  | { readonly kind: "cycle" }
  | { readonly kind: "no pin" };

/** What is known of a tensor at a pin: possible dtypes, rank, and whether it is a reference to state. */
export interface TensorType {
  readonly dtypes: readonly string[];
  readonly rank?: number;
  /** Whether it is a variable or a handle, which other blocks can write to; undefined if unknown. */
  readonly holds?: boolean;
}

function typeOf(info: PinInfo, spec: Spec | undefined, op: OpInfo | undefined): TensorType {
  const only = info.ranks?.length === 1 ? info.ranks[0] : undefined;
  const rank = spec ? spec.shape?.length : only;
  return {
    dtypes: spec ? [spec.dtype] : info.dtypes,
    ...(rank !== undefined && { rank }),
    ...referenceOf(op),
  };
}

/** Ops that write a variable pass it through, and a page block may: of these it is unknown. */
function referenceOf(op: OpInfo | undefined): Pick<TensorType, "holds"> {
  if (!op || op.name === PAGE || (op.writes.length && !op.holds)) return {};
  return { holds: op.holds };
}

/** The type of an output on the page. */
export function outputType(graph: Graph, from: OutputRef): TensorType {
  const pin = outputPinOf(graph, from);
  if (!pin) return { dtypes: [] };
  return typeOf(pin.info, specOf(graph, keyOf(pin.ref)), graph.blocks.get(from.block)?.info);
}

/** Why an input cannot take a tensor of this type; undefined if it can. `bound` has the dtypes of type variables. */
export function mismatch(
  offer: TensorType,
  info: PinInfo,
  op: OpInfo | undefined,
  bound?: ReadonlyMap<string, string>,
): ConnectionError | undefined {
  const { dtypes, rank } = offer;
  if (op?.writes.includes(info.name) && offer.holds === false) return { kind: "variable" };
  if (dtypes.length && info.dtypes.length && !dtypes.some((each) => info.dtypes.includes(each))) {
    return { kind: "dtype", got: dtypes, expected: info.dtypes };
  }
  const type = info.count === "mixed list" ? undefined : bound?.get(info.type);
  if (type !== undefined && dtypes.length && !dtypes.includes(type))
    return { kind: "same type", got: dtypes, expected: [type] };
  if (rank !== undefined && info.ranks && !info.ranks.includes(rank))
    return { kind: "rank", got: rank, expected: info.ranks };
  return undefined;
}

/** The dtypes that type variables of a block's signature are bound to, by inputs other than `except`. */
export function boundTypes(graph: Graph, view: BlockView, except?: string): Map<string, string> {
  const bound = new Map<string, string>();
  for (const pin of view.inputs) {
    if (pin.key === except || pin.info.count === "mixed list") continue;
    const from =
      typeof pin.value === "string" ? resolved(parseReference(pin.value), graph.blocks) : undefined;
    const dtype = from ? specOf(graph, keyOf(from))?.dtype : constantDtype(pin);
    if (dtype !== undefined && pin.info.type) bound.set(pin.info.type, dtype);
  }
  return bound;
}

function constantDtype(pin: InputPin): string | undefined {
  const value = pin.value;
  const dtype =
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as { dtype?: unknown }).dtype
      : undefined;
  return typeof dtype === "string" ? dtype : undefined;
}

/** Why an output cannot be wired to an input of the page; undefined if it can. */
export function connectionError(graph: Graph, from: OutputRef, to: InputRef): ConnectionError | undefined {
  const view = graph.blocks.get(to.block);
  const pin = inputPin(graph, to);
  if (!view || !pin || !outputPinOf(graph, from)) return { kind: "no pin" };
  if (from.block === to.block || reach(graph, [to.block], "downstream").has(from.block))
    return { kind: "cycle" };
  return mismatch(outputType(graph, from), pin.info, view.info, boundTypes(graph, view, pin.key));
}

const PRIORITY = { missing: 0, open: 1, constant: 2, wired: 3 } as const;

/** The best input of a block for an output: a missing one before an open, constant or wired one. */
export function bestInput(graph: Graph, from: OutputRef, block: string): InputPin | undefined {
  const view = graph.blocks.get(block);
  if (!view) return undefined;
  const offer = outputType(graph, from);
  const fitting = view.inputs.filter(
    (pin) => !mismatch(offer, pin.info, view.info, boundTypes(graph, view, pin.key)),
  );
  return fitting.sort((a, b) => PRIORITY[a.state] - PRIORITY[b.state])[0];
}

/** The first output of a block that an input accepts. */
export function bestOutput(graph: Graph, block: string, to: InputPin): OutputPin | undefined {
  const view = graph.blocks.get(block);
  const target = graph.blocks.get(to.ref.block);
  const bound = target && boundTypes(graph, target, to.key);
  return view?.outputs.find((pin) => !mismatch(outputType(graph, pin.ref), to.info, target?.info, bound));
}

// -- candidates -------------------------------------------------------------------------------

export interface Candidate<T> {
  readonly what: T;
  readonly reason?: ConnectionError;
}

function compatibleFirst<T>(all: Iterable<T>, why: (each: T) => ConnectionError | undefined): Candidate<T>[] {
  const fitting: Candidate<T>[] = [];
  const others: Candidate<T>[] = [];
  for (const what of all) {
    const reason = why(what);
    if (reason) others.push({ what, reason });
    else fitting.push({ what });
  }
  return [...fitting, ...others];
}

/** All inputs of the page, compatible ones first, the others with the reason. */
export function candidateInputs(graph: Graph, from: OutputRef): Candidate<InputPin>[] {
  const offer = outputType(graph, from);
  const above = reach(graph, [from.block], "upstream");
  const pins = [...graph.blocks.values()].flatMap((view) => view.inputs.map((pin) => ({ view, pin })));
  const found = compatibleFirst(pins, ({ view, pin }) =>
    above.has(view.name)
      ? { kind: "cycle" }
      : mismatch(offer, pin.info, view.info, boundTypes(graph, view, pin.key)),
  );
  const chosen = found.map(({ what, reason }) => (reason ? { what: what.pin, reason } : { what: what.pin }));
  return chosen.sort(
    (a, b) => Number(!!a.reason) - Number(!!b.reason) || PRIORITY[a.what.state] - PRIORITY[b.what.state],
  );
}

/** All outputs of the page, compatible ones first. */
export function candidateOutputs(graph: Graph, to: InputRef): Candidate<OutputPin>[] {
  const view = graph.blocks.get(to.block);
  const pin = inputPin(graph, to);
  if (!view || !pin) return [];
  const bound = boundTypes(graph, view, pin.key);
  const below = reach(graph, [to.block], "downstream");
  const outputs = [...graph.blocks.values()].flatMap((each) => each.outputs);
  return compatibleFirst(outputs, (output) =>
    below.has(output.ref.block)
      ? { kind: "cycle" }
      : mismatch(outputType(graph, output.ref), pin.info, view.info, bound),
  );
}

/** The pin of an op, not on the page yet, that matches; else the reason why none does. */
export interface OpMatch {
  readonly op: OpInfo;
  readonly pin?: PinInfo;
  readonly reason?: ConnectionError;
}

/** The first input of an op that accepts a type. */
export function matchInput(offer: TensorType, op: OpInfo): OpMatch {
  return firstMatch(op, op.inputs, (pin) => mismatch(offer, pin, op));
}

/** The first output of an op that an input accepts. */
export function matchOutput(graph: Graph, to: InputRef, op: OpInfo): OpMatch {
  const view = graph.blocks.get(to.block);
  const pin = inputPin(graph, to);
  if (!view || !pin) return { op, reason: { kind: "no pin" } };
  const bound = boundTypes(graph, view, pin.key);
  return firstMatch(op, op.outputs, (output) =>
    mismatch(typeOf(output, undefined, op), pin.info, view.info, bound),
  );
}

function firstMatch(
  op: OpInfo,
  pins: readonly PinInfo[],
  why: (pin: PinInfo) => ConnectionError | undefined,
): OpMatch {
  let first: ConnectionError | undefined;
  for (const pin of pins) {
    const reason = why(pin);
    if (!reason) return { op, pin };
    first ??= reason;
  }
  return { op, reason: first ?? { kind: "no pin" } };
}
