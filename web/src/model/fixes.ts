/** Fixes of problems as actions: a block is changed so that the rule it broke holds. */

import type { Fix, Problem } from "../net/generated.ts";
import { type Action, type AddAction, item } from "./action.ts";
import { cellsOf, constantOf, reshaped, retyped } from "./constant-cells.ts";
import { isObject, isTyped, type Json, type PageBlock, parseReference, referenceText } from "./document.ts";
import { Draft } from "./draft.ts";
import { actionOf, putAttr, putBlock, putConstant } from "./edit-blocks.ts";
import { BLOCK_WIDTH, blockHeight, blockRects, COLUMN_GAP, freePosition } from "./geometry.ts";
import { type BlockView, type Graph, graphOf, type InputPin } from "./graph.ts";
import { CONST } from "./ops.ts";
import { putInput } from "./references.ts";

/** A problem with a fix of it. */
export interface ProblemFix {
  readonly block: string;
  readonly fix: Fix;
}

export function fixesOf(problems: readonly Problem[]): ProblemFix[] {
  return problems.flatMap(({ block, fixes }) => (block ? (fixes ?? []).map((fix) => ({ block, fix })) : []));
}

/** The action of a fix; undefined if the page has changed so that it can no longer be made. */
export function fixAction(graph: Graph, { block, fix }: ProblemFix): Action | AddAction | undefined {
  const view = graph.blocks.get(block);
  if (view === undefined) return undefined;
  const draft = new Draft(graph.document);
  const label = { kind: "fix", name: block } as const;
  const [first, second] = fix.args.map((arg) => view.inputs.find((pin) => pin.key === arg));
  switch (fix.kind) {
    case "set":
      for (const [name, value] of Object.entries(fix.values ?? {})) {
        const pin = view.inputs.find((each) => each.key === name);
        if (pin) changeConstant(draft, graph, pin, (old) => typedLike(old, value as Json));
        else putAttr(draft, graph, block, name, value as Json);
      }
      return actionOf(draft, label);
    case "insert": {
      if (first?.state !== "wired") return undefined;
      const name = insertBefore(draft, graph, first, fix);
      return name === undefined ? undefined : { ...actionOf(draft, label), added: [item("block", name)] };
    }
    case "swap":
      if (first?.value === undefined || second?.value === undefined) return undefined;
      putInput(draft, first.ref, second.value);
      putInput(draft, second.ref, first.value);
      return actionOf(draft, label);
    case "constant":
      if (first === undefined) return undefined;
      changeConstant(draft, graph, first, (old) => changed(old, fix.values ?? {}));
      return draft.edits.length > 0 ? actionOf(draft, label) : undefined;
  }
}

/** Changes the constant at an input: where it is, or in the Const block that a wire comes from. */
function changeConstant(
  draft: Draft,
  graph: Graph,
  pin: InputPin,
  change: (old: Json | undefined) => Json | undefined,
): void {
  const source =
    pin.state === "wired" ? graph.blocks.get(parseReference(pin.value as string).block) : undefined;
  if (source !== undefined && source.op !== CONST) return;
  const next = change(source ? source.rows.find((row) => row.name === "value")?.value : pin.value);
  if (next === undefined) return;
  if (source === undefined) putInput(draft, pin.ref, next);
  else putConstant(draft, source.name, next);
}

/** A value with the dtype that a constant has. */
function typedLike(old: Json | undefined, value: Json): Json {
  return isObject(old) && isTyped(old) ? { dtype: old.dtype, value } : value;
}

function changed(old: Json | undefined, { shape, dtype }: Fix["values"] & object): Json | undefined {
  const cells = cellsOf(old);
  if (cells === undefined) return undefined;
  const typed = dtype === undefined ? cells : retyped(cells, dtype as string);
  const fill = typed.dtype === "bool" ? false : typed.dtype === "string" ? "" : 0;
  return constantOf(shape === undefined ? typed : reshaped(typed, shape as number[], fill));
}

/** Inserts a block between an input and what is wired to it; its name. */
function insertBefore(draft: Draft, graph: Graph, pin: InputPin, fix: Fix): string | undefined {
  const info = graph.ops.get(fix.op ?? "");
  const [taken, ...others] = info?.inputs ?? [];
  const output = info?.outputs[0]?.name;
  if (info === undefined || taken === undefined || output === undefined) return undefined;
  const values = fix.values ?? {};
  const inputs = others.flatMap(({ name }) => (values[name] === undefined ? [] : [[name, values[name]]]));
  const attrs = info.attrs.flatMap(({ name }) => (values[name] === undefined ? [] : [[name, values[name]]]));
  const made: PageBlock = {
    op: info.name,
    in: { [taken.name]: pin.value as string, ...Object.fromEntries(inputs) },
    ...(attrs.length > 0 && { attrs: Object.fromEntries(attrs) }),
  };
  const places = blockRects(graph);
  const beside = places.get(pin.ref.block) ?? { x: 0, y: 0 };
  const name = putBlock(draft, made, beside);
  const view = graphOf({ blocks: { [name]: made } }, graph.ops).blocks.get(name) as BlockView;
  const left = { x: beside.x - BLOCK_WIDTH - COLUMN_GAP, y: beside.y };
  const at = freePosition(places.values(), left, blockHeight(view));
  draft.put(["layout", "blocks", name], [at.x, at.y]);
  putInput(draft, pin.ref, referenceText({ block: name, pin: output }));
  return name;
}
