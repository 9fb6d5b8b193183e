/** Actions on subpages: extract a selection to a page, use a page as a block, toggle ports. */

import { type Action, type AddAction, item } from "./action.ts";
import {
  type OutputRef,
  type PageBlock,
  type PageDocument,
  type Port,
  parseReference,
  referenceText,
} from "./document.ts";
import { Draft } from "./draft.ts";
import { actionOf, putBlock, removeEntries } from "./edit-blocks.ts";
import { setPort } from "./edit-page.ts";
import { FORMAT } from "./generated.ts";
import { blockRects, bounds, type Point, type Rect } from "./geometry.ts";
import { type Graph, keyOf, outputPinOf, resolved, specOf } from "./graph.ts";
import { uniqueName } from "./names.ts";
import { PAGE, PLACEHOLDER } from "./ops.ts";
import { rewriteReferences } from "./references.ts";

/** Adds a page block. */
export function addPageBlock(document: PageDocument, path: string, at: Point): AddAction {
  const draft = new Draft(document);
  const name = putBlock(draft, { op: PAGE, attrs: { page: path } }, at, nameOfFile(path));
  return { ...actionOf(draft, { kind: "add block", name }), added: [item("block", name)] };
}

function nameOfFile(path: string): string {
  const file = path.slice(path.lastIndexOf("/") + 1).replace(/(\.page)?\.json$/, "");
  return file.replace(/[^A-Za-z0-9_.-]+/g, "_").replace(/^[^A-Za-z0-9]+/, "") || "part";
}

export interface Extracted {
  /** The new page. */
  readonly part: PageDocument;
  /** The action on the page that it was extracted from. */
  readonly action: Action;
  readonly block: string;
}

/**
 * Extracts blocks to a page with a port for each wire that crosses its border, and replaces them by one page block.
 * The types of these wires must be known: ports have them.
 */
export function extract(graph: Graph, names: readonly string[], path: string): Extracted {
  const inside = new Set(names);
  const places = blockRects(graph);
  const entries = incoming(graph, inside);
  const exits = outgoing(graph, inside);
  const part = subpageOf(graph, inside, entries, exits, places);

  const draft = new Draft(graph.document);
  const around = bounds(names.map((name) => places.get(name))) ?? { x: 0, y: 0 };
  const inputs = Object.fromEntries([...entries].map(([port, source]) => [port, referenceText(source)]));
  const block: PageBlock = { op: PAGE, ...(entries.size && { in: inputs }), attrs: { page: path } };
  const name = putBlock(draft, block, around, nameOfFile(path));
  const ports = new Map([...exits].map(([port, source]) => [keyOf(source), port]));
  const moved = (from: OutputRef): OutputRef | null | undefined => {
    if (!inside.has(from.block)) return undefined;
    const port = ports.get(keyOf(resolved(from, graph.blocks) ?? from));
    return port === undefined ? null : { block: name, pin: port };
  };
  rewriteOrder(draft, inside, name);
  removeEntries(draft, inside);
  rewriteReferences(draft, {
    input: moved,
    output: moved,
    block: (each) => (inside.has(each) ? null : undefined),
  });
  return { part, action: actionOf(draft, { kind: "extract", name, count: inside.size }), block: name };
}

/** Redirects control dependencies, targets and frames of extracted blocks to the page block. */
function rewriteOrder(draft: Draft, inside: ReadonlySet<string>, name: string): void {
  for (const [each, { after }] of Object.entries(draft.blocks)) {
    if (!inside.has(each) && after?.some((other) => inside.has(other))) {
      draft.put(
        ["blocks", each, "after"],
        [...new Set(after.map((other) => (inside.has(other) ? name : other)))],
      );
    }
  }
  const targets = draft.document.run?.targets;
  if (targets?.some((each) => inside.has(each))) {
    draft.put(
      ["run", "targets"],
      targets.map((each) => (inside.has(each) ? `${name}/${each}` : each)),
    );
  }
  for (const [frame, { blocks }] of Object.entries(draft.frames)) {
    if (blocks?.length && blocks.every((each) => inside.has(each)))
      draft.put(["frames", frame, "blocks"], [name]);
  }
}

/** The outside outputs that inner blocks read, by port name. */
function incoming(graph: Graph, inside: ReadonlySet<string>): Map<string, OutputRef> {
  const wires = [...inside].flatMap((name) => graph.into.get(name) ?? []);
  const outside = wires.filter((wire) => !wire.order && !inside.has(wire.from.block));
  return named(
    outside.map((wire) => ({ ref: wire.from, wanted: wire.to.pin })),
    inside,
  );
}

/** The inner outputs that outside blocks, run settings or monitors read, by port name. */
function outgoing(graph: Graph, inside: ReadonlySet<string>): Map<string, OutputRef> {
  const wires = [...inside].flatMap((name) => graph.outOf.get(name) ?? []);
  const { run, monitors } = graph.document;
  const shown = Object.values(monitors ?? {}).flatMap((monitor) =>
    (monitor.shows ?? []).map((each) => each.pin),
  );
  const wanted = [...(run?.fetch ?? []), ...(run?.until ? [run.until] : []), ...shown].map(parseReference);
  const refs = [
    ...wires.filter((wire) => !wire.order && !inside.has(wire.to.block)).map((wire) => wire.from),
    ...wanted.filter((ref) => inside.has(ref.block)).map((ref) => resolved(ref, graph.blocks) ?? ref),
  ];
  return named(
    refs.map((ref) => ({ ref, wanted: ref.block })),
    new Set(),
  );
}

/** A unique port name for each output. */
function named(
  refs: readonly { ref: OutputRef; wanted: string }[],
  taken: ReadonlySet<string>,
): Map<string, OutputRef> {
  const names = new Map<string, OutputRef>();
  const known = new Set<string>();
  for (const { ref, wanted } of refs) {
    if (known.has(keyOf(ref))) continue;
    known.add(keyOf(ref));
    names.set(
      uniqueName(wanted.replaceAll("/", "_"), (name) => names.has(name) || taken.has(name)),
      ref,
    );
  }
  return names;
}

function subpageOf(
  graph: Graph,
  inside: ReadonlySet<string>,
  entries: ReadonlyMap<string, OutputRef>,
  exits: ReadonlyMap<string, OutputRef>,
  places: ReadonlyMap<string, Rect>,
): PageDocument {
  const around = bounds([...inside].map((name) => places.get(name))) ?? { x: 0, y: 0, width: 0, height: 0 };
  const draft = new Draft({ format: FORMAT, blocks: {} });
  const output = graph.ops.get(PLACEHOLDER)?.outputs[0]?.name ?? "output";
  const given = new Map<string, OutputRef>();
  let y = 0;
  for (const [port, source] of entries) {
    const { dtype, shape = null } = typeAt(graph, source);
    putBlock(draft, { op: PLACEHOLDER, attrs: { dtype, shape } }, { x: -312, y }, port);
    draft.put(["ports", "inputs", port], { pin: referenceText({ block: port, pin: output }), dtype, shape });
    given.set(keyOf(source), { block: port, pin: output });
    y += 136;
  }
  for (const [name, block] of Object.entries(graph.document.blocks ?? {})) {
    if (!inside.has(name)) continue;
    const at = places.get(name) ?? { x: 0, y: 0 };
    draft.put(["blocks", name], block);
    draft.put(["layout", "blocks", name], [at.x - around.x, at.y - around.y]);
  }
  const moved = (from: OutputRef): OutputRef | null | undefined =>
    inside.has(from.block)
      ? undefined
      : (given.get(keyOf(resolved(from, graph.blocks) ?? from)) ?? portReference(from, given));
  rewriteReferences(draft, {
    input: moved,
    output: moved,
    block: (name) => (inside.has(name) || draft.blocks[name] ? undefined : null),
  });
  for (const [port, source] of exits) {
    const { dtype, shape = null } = typeAt(graph, source);
    draft.put(["ports", "outputs", port], { pin: referenceText(source), dtype, shape });
  }
  return draft.document;
}

/** Keeps references to placeholders of ports; other outside references are removed. */
function portReference(from: OutputRef, given: ReadonlyMap<string, OutputRef>): null | undefined {
  for (const ref of given.values()) if (ref.block === from.block) return undefined;
  return null;
}

/** The type of a port, as the server inferred it, with unknown sizes left open. */
function typeAt(graph: Graph, ref: OutputRef): Pick<Port, "dtype" | "shape"> {
  const spec = specOf(graph, keyOf(ref));
  const dtype = spec?.dtype ?? outputPinOf(graph, ref)?.info.dtypes[0] ?? "float32";
  return { dtype, shape: spec?.shape?.map((size) => (typeof size === "number" ? size : null)) ?? null };
}

/** The port of an output. */
export function portFor(graph: Graph, ref: OutputRef): Port {
  const { dtype, shape = null } = typeAt(graph, ref);
  return { pin: referenceText(resolved(ref, graph.blocks) ?? ref), dtype, shape };
}

/** Makes an output a port of the page, or removes the port. Placeholders are input ports. */
export function togglePort(graph: Graph, ref: OutputRef): Action {
  const side = graph.blocks.get(ref.block)?.op === PLACEHOLDER ? "inputs" : "outputs";
  const ports = graph.document.ports?.[side] ?? {};
  const port = portFor(graph, ref);
  const known = Object.keys(ports).find((name) => ports[name]?.pin === port.pin);
  if (known !== undefined) return setPort(graph.document, side, known, undefined);
  const name = uniqueName(ref.block.replaceAll("/", "_"), (each) => Object.hasOwn(ports, each));
  return setPort(graph.document, side, name, port);
}
