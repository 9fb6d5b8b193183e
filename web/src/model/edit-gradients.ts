/** Actions that add gradients: a wired gradient op for a block, or one gradients block for ys with respect to xs. */

import { type AddAction, type Item, item } from "./action.ts";
import { type InputRef, type Json, type OutputRef, type PageBlock, referenceText } from "./document.ts";
import { Draft } from "./draft.ts";
import { actionOf, putBlock } from "./edit-blocks.ts";
import {
  BLOCK_WIDTH,
  blockHeight,
  blockRects,
  COLUMN_GAP,
  FOOTER_HEIGHT,
  freePosition,
  type Point,
  type Rect,
  ROW_HEIGHT,
  TITLE_HEIGHT,
} from "./geometry.ts";
import {
  type BlockView,
  type Graph,
  graphOf,
  inputPin,
  keyOf,
  type OutputPin,
  outputPinOf,
  reach,
  specOf,
} from "./graph.ts";
import { DIFFERENTIABLE_DTYPES, GRADIENTS, type GradientInfo } from "./ops.ts";
import { putInput } from "./references.ts";

const ONES = "OnesLike";
const SHAPE = "Shape";

/** The gradient ops of a block, one for each differentiable input. */
export function gradientsFor(view: BlockView): readonly GradientInfo[] {
  return view.info?.gradients ?? [];
}

/**
 * Adds the gradient op of a block, wired to the block's inputs and outputs, to shapes where it needs them, and to the
 * incoming gradient, which is ones unless `flowing` names an output.
 */
export function addGradient(
  graph: Graph,
  block: string,
  gradient: GradientInfo,
  flowing?: OutputRef,
): AddAction {
  const view = graph.blocks.get(block);
  if (!view) throw new Error(`no block ${block}`);
  const placing = new Placing(graph, block);
  const sources = new Map<string, Json>();
  for (const [pin, from] of Object.entries(gradient.inputs)) {
    const value = sourceOf(placing, view, from, flowing);
    if (value !== undefined) sources.set(pin, value);
  }
  const attrs = Object.entries(view.block.attrs ?? {}).filter(([name]) => gradient.attrs.includes(name));
  const made: PageBlock = {
    op: gradient.op,
    in: Object.fromEntries(sources),
    ...(attrs.length && { attrs: Object.fromEntries(attrs) }),
  };
  const name = placing.add(made, gradientName(view, gradient));
  return {
    ...actionOf(placing.draft, { kind: "gradient", name: block }),
    added: [item("block", name), ...placing.added],
  };
}

/**
 * The name of a gradient block: d_pool, then d2_pool of the second gradient; with the input's name if there are several.
 * What differs stands at the front, where a name that is cut still shows it.
 */
function gradientName(view: BlockView, gradient: GradientInfo): string {
  const [, order, of] = /^(?:d(\d*)_)?(.*)$/.exec(view.name) as unknown as [
    string,
    string | undefined,
    string,
  ];
  const next = order === undefined ? "d" : `d${order === "" ? 2 : Number(order) + 1}`;
  return gradientsFor(view).length > 1 ? `${next}_${of}_${gradient.input}` : `${next}_${of}`;
}

function sourceOf(placing: Placing, view: BlockView, from: string, flowing?: OutputRef): Json | undefined {
  const space = from.indexOf(" ");
  const [what, pin] = [from.slice(0, space), from.slice(space + 1)];
  switch (what) {
    case "input":
      return view.block.in?.[pin];
    case "output":
      return referenceText({ block: view.name, pin });
    case "gradient":
      return flowing
        ? referenceText(flowing)
        : placing.beside(ONES, "x", referenceText({ block: view.name, pin }), `ones_${view.name}`);
    case "shape":
      return placing.beside(SHAPE, "input", view.block.in?.[pin], `shape_${view.name}_${pin}`);
    default:
      return undefined;
  }
}

/** Places new blocks in a column right of another block. */
class Placing {
  readonly draft: Draft;
  readonly added: Item[] = [];
  private readonly places: Map<string, Rect>;
  private readonly start: Point;

  constructor(
    private readonly graph: Graph,
    block: string,
  ) {
    this.draft = new Draft(graph.document);
    this.places = blockRects(graph);
    const at = this.places.get(block) ?? { x: 0, y: 0, height: 0 };
    this.start = { x: at.x + BLOCK_WIDTH + COLUMN_GAP, y: at.y + at.height + 64 };
  }

  /** Adds a helper block one column to the left. */
  beside(op: string, pin: string, value: Json | undefined, name: string): string | undefined {
    const output = this.graph.ops.get(op)?.outputs[0]?.name;
    if (value === undefined || output === undefined) return undefined;
    const made = this.put({ op, in: { [pin]: value } }, name, this.start.x - BLOCK_WIDTH - COLUMN_GAP);
    this.added.push(item("block", made));
    return referenceText({ block: made, pin: output });
  }

  add(block: PageBlock, name: string): string {
    return this.put(block, name, this.start.x);
  }

  private put(block: PageBlock, wanted: string, x: number): string {
    const name = putBlock(this.draft, block, { x, y: this.start.y }, wanted);
    const view = graphOf({ blocks: { [name]: block } }, this.graph.ops).blocks.get(name) as BlockView;
    const at = freePosition(this.places.values(), { x, y: this.start.y }, blockHeight(view));
    this.draft.put(["layout", "blocks", name], [at.x, at.y]);
    this.places.set(name, { ...at, width: BLOCK_WIDTH, height: blockHeight(view) });
    return name;
  }
}

/** The outputs upstream of `ys` with a differentiable dtype. */
export function differentiable(graph: Graph, ys: readonly OutputRef[]): OutputPin[] {
  const own = new Set(ys.map((y) => y.block));
  const before = reach(graph, own, "upstream");
  return [...graph.blocks.values()]
    .filter(({ name }) => before.has(name) && !own.has(name))
    .flatMap(({ outputs }) => outputs)
    .filter(({ ref, info }) => {
      const dtype = specOf(graph, keyOf(ref))?.dtype;
      return (dtype === undefined ? info.dtypes : [dtype]).some((each) =>
        DIFFERENTIABLE_DTYPES.includes(each),
      );
    });
}

/** Adds a gradients block for `ys` with respect to `xs`. */
export function addGradients(graph: Graph, ys: readonly OutputRef[], xs: readonly OutputRef[]): AddAction {
  const wires = (refs: readonly OutputRef[]): string[] =>
    refs.map((ref) => referenceText(outputPinOf(graph, ref)?.ref ?? ref));
  const placing = new Placing(graph, ys[0]?.block ?? "");
  const name = placing.add({ op: GRADIENTS, in: { ys: wires(ys), xs: wires(xs) } }, GRADIENTS);
  return {
    ...actionOf(placing.draft, { kind: "gradients", name: ys[0]?.block ?? "" }),
    added: [item("block", name)],
  };
}

/** Turns the constant of an input into a Const block. */
export function constantToBlock(graph: Graph, to: InputRef): AddAction {
  const draft = new Draft(graph.document);
  const places = blockRects(graph);
  const beside = places.get(to.block) ?? { x: 0, y: 0 };
  const left = { x: beside.x - BLOCK_WIDTH - COLUMN_GAP, y: beside.y };
  const at = freePosition(places.values(), left, TITLE_HEIGHT + 2 * ROW_HEIGHT + FOOTER_HEIGHT);
  const value = inputPin(graph, to)?.value ?? 0;
  const name = putBlock(
    draft,
    { op: "Const", attrs: { value } },
    at,
    `${to.block}_${to.pin}`.replaceAll("/", "_"),
  );
  const output = graph.ops.get("Const")?.outputs[0]?.name ?? "output";
  putInput(draft, to, referenceText({ block: name, pin: output }));
  return { ...actionOf(draft, { kind: "add block", name }), added: [item("block", name)] };
}
