/**
 * Links between a block and its gradient blocks: an attribute that both have follows the forward block's for as long as
 * the two are equal. Whoever gives the gradient block another value parts them; equal values link them again.
 */

import { type Json, parseReference } from "./document.ts";
import { same } from "./draft.ts";
import type { BlockView, Graph } from "./graph.ts";
import type { GradientInfo } from "./ops.ts";

/** The gradient blocks, and theirs, whose attribute follows that of a block. */
export function linkedGradients(graph: Graph, block: string, attr: string): string[] {
  const found = new Set<string>();
  const look = (forward: BlockView): void => {
    for (const [gradient, ways] of gradientBlocks(graph, forward)) {
      const isNew = gradient.name !== block && !found.has(gradient.name);
      if (isNew && ways.some((way) => way.attrs.includes(attr)) && equalAttr(forward, gradient, attr)) {
        found.add(gradient.name);
        look(gradient);
      }
    }
  };
  const view = graph.blocks.get(block);
  if (view) look(view);
  return [...found];
}

/** The forward block that an attribute of a gradient block follows. */
export function forwardOf(graph: Graph, gradient: BlockView, attr: string): string | undefined {
  for (const forward of graph.blocks.values()) {
    if (forward !== gradient && linkedTo(graph, forward, gradient, attr)) return forward.name;
  }
  return undefined;
}

function linkedTo(graph: Graph, forward: BlockView, gradient: BlockView, attr: string): boolean {
  const ways = waysTo(graph, forward, gradient);
  return ways.some((way) => way.attrs.includes(attr)) && equalAttr(forward, gradient, attr);
}

function gradientBlocks(graph: Graph, forward: BlockView): [BlockView, GradientInfo[]][] {
  return [...graph.blocks.values()]
    .filter((view) => view !== forward)
    .map((view): [BlockView, GradientInfo[]] => [view, waysTo(graph, forward, view)])
    .filter(([, ways]) => ways.length > 0);
}

/** The gradients of a block that another block is wired as. A convolution is the gradient of its gradient too. */
function waysTo(graph: Graph, forward: BlockView, view: BlockView): GradientInfo[] {
  if (forward.op.length >= view.op.length) return [];
  return (forward.info?.gradients ?? []).filter((way) => {
    const sources = Object.entries(way.inputs).filter(([, from]) => !from.startsWith("gradient "));
    return (
      way.op === view.op &&
      sources.length > 0 &&
      sources.every(([pin, from]) => isSource(graph, forward, from, view.block.in?.[pin]))
    );
  });
}

/** Whether a gradient's input has what its forward block has: "input x", "output y" or "shape x". */
function isSource(graph: Graph, forward: BlockView, from: string, given: Json | undefined): boolean {
  const space = from.indexOf(" ");
  const [what, pin] = [from.slice(0, space), from.slice(space + 1)];
  if (given === undefined) return false;
  if (what === "output") return leadsTo(graph, given, forward.name, pin);
  const own = forward.block.in?.[pin];
  if (own === undefined) return false;
  if (what === "input") return sameSource(graph, given, own);
  // A shape that is typed may be any.
  if (typeof given !== "string") return true;
  const source = graph.blocks.get(parseReference(given).block);
  const input = source?.block.in?.input;
  return source?.op === "Shape"
    ? input !== undefined && sameSource(graph, input, own)
    : source?.op === "Const";
}

function leadsTo(graph: Graph, wire: Json, block: string, pin: string): boolean {
  if (typeof wire !== "string") return false;
  const from = parseReference(wire);
  return from.block === block && (from.pin ?? graph.blocks.get(block)?.outputs[0]?.info.name) === pin;
}

function sameSource(graph: Graph, one: Json, other: Json): boolean {
  if (typeof one !== "string" || typeof other !== "string") return same(one, other);
  const { block, pin } = parseReference(other);
  return leadsTo(graph, one, block, pin ?? graph.blocks.get(block)?.outputs[0]?.info.name ?? "");
}

function equalAttr(one: BlockView, other: BlockView, attr: string): boolean {
  const [a, b] = [one, other].map(
    (view) => [...view.rows, ...view.rest].find((row) => row.name === attr)?.value,
  );
  return a !== undefined && b !== undefined && same(a, b);
}
