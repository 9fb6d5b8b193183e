/** The outline: the page as a tree of text, to read and edit it without a pointer or a picture. */

import type { CoreStrings } from "../text/index.ts";
import { type Item, item } from "./action.ts";
import { type InputRef, localizedText, localizedTitle, type OutputRef } from "./document.ts";
import { specText } from "./format.ts";
import { type BlockView, depths, type Graph, type InputPin, keyOf, type OutputPin, specOf } from "./graph.ts";
import { valueText } from "./values.ts";

export interface OutlineNode {
  readonly id: string;
  readonly kind: "group" | "frame" | "block" | "input" | "output" | "attr" | "note" | "monitor";
  readonly text: string;
  /** Secondary text. */
  readonly detail: string;
  readonly problems: number;
  readonly item?: Item;
  readonly input?: InputRef;
  readonly output?: OutputRef;
  readonly attr?: string;
  readonly children: readonly OutlineNode[];
}

/** Frames with their blocks, then blocks without a frame, notes and monitors. Blocks are in topological order. */
export function outline(graph: Graph, strings: CoreStrings, language = "en"): OutlineNode[] {
  const depth = depths(graph);
  const sorted = [...graph.blocks.values()].sort(
    (a, b) => (depth.get(a.name) ?? 0) - (depth.get(b.name) ?? 0),
  );
  const framed = new Set<string>();
  const { frames, notes, monitors } = graph.document;
  const nodes: OutlineNode[] = [];
  for (const [name, frame] of Object.entries(frames ?? {})) {
    const inside = new Set(frame.blocks);
    for (const each of inside) framed.add(each);
    const blocks = sorted
      .filter((view) => inside.has(view.name))
      .map((view) => blockNode(graph, view, strings));
    nodes.push(
      node({
        id: `frame/${name}`,
        kind: "frame",
        text: localizedTitle(language, frame, name),
        item: item("frame", name),
        children: blocks,
      }),
    );
  }
  const loose = sorted
    .filter((view) => !framed.has(view.name))
    .map((view) => blockNode(graph, view, strings));
  if (!nodes.length) nodes.push(...loose);
  else if (loose.length)
    nodes.push(node({ id: "loose", kind: "group", text: strings.outline.loose, children: loose }));
  const noteNodes = Object.entries(notes ?? {}).map(([name, note]) =>
    node({
      id: `note/${name}`,
      kind: "note",
      text: firstLine(localizedText(language, note.text, note.texts)) || name,
      item: item("note", name),
    }),
  );
  if (noteNodes.length)
    nodes.push(node({ id: "notes", kind: "group", text: strings.outline.notes, children: noteNodes }));
  const monitorNodes = Object.entries(monitors ?? {}).map(([name, monitor]) =>
    node({
      id: `monitor/${name}`,
      kind: "monitor",
      text: localizedTitle(language, monitor, name),
      detail: (monitor.shows ?? []).map((shown) => shown.label || shown.pin).join(", "),
      item: item("monitor", name),
    }),
  );
  if (monitorNodes.length)
    nodes.push(
      node({ id: "monitors", kind: "group", text: strings.outline.monitors, children: monitorNodes }),
    );
  return nodes;
}

function node(given: Partial<OutlineNode> & Pick<OutlineNode, "id" | "kind" | "text">): OutlineNode {
  const children = given.children ?? [];
  return { detail: "", problems: children.reduce((sum, each) => sum + each.problems, 0), children, ...given };
}

function firstLine(text: string): string {
  return (text.trim().split("\n")[0] ?? "").replace(/[*_#`]/g, "").slice(0, 80);
}

function blockNode(graph: Graph, view: BlockView, strings: CoreStrings): OutlineNode {
  const children = [
    ...view.inputs
      .filter((pin) => !pin.more || pin.state === "missing")
      .map((pin) => inputNode(view, pin, strings)),
    ...view.rows.map((row) =>
      node({
        id: `block/${view.name}#${row.name}`,
        kind: "attr",
        text: row.missing
          ? strings.outline.missing(row.name)
          : strings.outline.constant(row.name, valueText(row.value, 60)),
        attr: row.name,
        item: item("block", view.name),
      }),
    ),
    ...view.outputs.map((pin) => outputNode(graph, view, pin, strings)),
  ];
  const problems = graph.problems.get(view.name)?.length ?? 0;
  return {
    ...node({
      id: `block/${view.name}`,
      kind: "block",
      text: view.name,
      detail: view.op,
      item: item("block", view.name),
      children,
    }),
    problems,
  };
}

function inputNode(view: BlockView, pin: InputPin, strings: CoreStrings): OutlineNode {
  const say = strings.outline;
  const text =
    pin.state === "wired"
      ? say.input(pin.key, pin.value as string)
      : pin.state === "constant"
        ? say.constant(pin.key, valueText(pin.value, 60))
        : say[pin.state](pin.key);
  return node({
    id: `block/${view.name}<${pin.key}`,
    kind: "input",
    text,
    input: pin.ref,
    item: item("block", view.name),
  });
}

function outputNode(graph: Graph, view: BlockView, pin: OutputPin, strings: CoreStrings): OutlineNode {
  const spec = specOf(graph, keyOf(pin.ref));
  const text = strings.outline.output(pin.key, spec ? specText(spec, strings) : "");
  return node({
    id: `block/${view.name}>${pin.key}`,
    kind: "output",
    text,
    output: pin.ref,
    item: item("block", view.name),
  });
}
