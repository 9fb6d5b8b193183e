/** React Flow nodes of near blocks, notes and monitors, reused while they show the same. */

import type { Node } from "@xyflow/react";
import type { Item } from "../../model/action.ts";
import { item } from "../../model/action.ts";
import { localizedText } from "../../model/document.ts";
import { type BlockView, keyOf, specOf } from "../../model/graph.ts";
import type { Problem, Spec } from "../../net/generated.ts";
import { useSettings } from "../settings.ts";
import type { BlockNode } from "./Block.tsx";
import type { MonitorNode } from "./Monitor.tsx";
import type { NoteNode } from "./Note.tsx";
import { type BoxShape, conflictsOf, type Scene } from "./scene.ts";
import { itemOfBox, type NearItems } from "./stage.ts";

export type StageNode = BlockNode | NoteNode | MonitorNode;

const NO_PROBLEMS: readonly Problem[] = [];

interface NodeContext {
  near: NearItems;
  scene: Scene;
  selection: ReadonlySet<Item>;
  editing: string | null;
  onText(note: string, text: string): void;
  onDone(): void;
}

export class NodeCache {
  private before = new Map<string, StageNode>();

  of(shown: NodeContext): StageNode[] {
    const { near, scene } = shown;
    const nodes: StageNode[] = [];
    for (const name of near.blocks) {
      const view = scene.block(name);
      if (view) nodes.push(this.reuse(blockNode(view, shown)));
    }
    for (const { kind, name } of near.boxes) {
      const box = scene.boxes.find((each) => each.kind === kind && each.name === name);
      if (box) nodes.push(this.reuse(boxNode(box, shown)));
    }
    this.before = new Map(nodes.map((node) => [node.id, node]));
    return nodes;
  }

  private reuse(node: StageNode): StageNode {
    const before = this.before.get(node.id);
    return before && same(before, node) ? before : node;
  }
}

function nodeBase(
  id: Item,
  rect: { x: number; y: number; width: number; height: number },
): Omit<Node, "data"> {
  const { x, y, width, height } = rect;
  return { id, position: { x, y }, width, height, measured: { width, height }, handles: [] };
}

function blockNode(view: BlockView, { scene, selection }: NodeContext): BlockNode {
  const id = item("block", view.name);
  const specs = new Map<string, Spec>();
  for (const wire of scene.graph.into.get(view.name) ?? []) {
    const spec = specOf(scene.graph, wire.source);
    if (spec) specs.set(wire.id.slice(view.name.length + 1), spec);
  }
  for (const output of view.outputs) {
    const spec = specOf(scene.graph, keyOf(output.ref));
    if (spec) specs.set(`>${output.key}`, spec);
  }
  const problems = scene.graph.problems.get(view.name) ?? NO_PROBLEMS;
  return {
    ...nodeBase(id, scene.places.get(view.name) as { x: number; y: number; width: number; height: number }),
    type: "block",
    // The problem below a block may overlap others; a selected block is on top.
    zIndex: selection.has(id) ? 3 : scene.conflicts.has(view.name) ? 2 : 1,
    data: {
      view,
      specs,
      problems,
      conflicts: conflictsOf(scene.graph, view.name),
      selected: selection.has(id),
    },
  } as BlockNode;
}

function boxNode(box: BoxShape, shown: NodeContext): NoteNode | MonitorNode {
  const { document } = shown.scene.graph;
  const id = itemOfBox(box);
  const base = nodeBase(id, box.rect);
  const selected = shown.selection.has(id);
  if (box.kind === "monitors")
    return {
      ...base,
      type: "monitor",
      data: { name: box.name, monitor: document.monitors?.[box.name] ?? { kind: "" }, selected },
    } as MonitorNode;
  const note = document.notes?.[box.name];
  const text = localizedText(useSettings.getState().language, note?.text, note?.texts);
  const onText = (next: string) => shown.onText(box.name, next);
  return {
    ...base,
    type: "note",
    data: {
      name: box.name,
      text,
      selected,
      editing: shown.editing === box.name,
      onText,
      onDone: shown.onDone,
    },
  } as NoteNode;
}

/** Whether two nodes have equal data, apart from callbacks. */
function same(a: StageNode, b: StageNode): boolean {
  if (
    a.position.x !== b.position.x ||
    a.position.y !== b.position.y ||
    a.width !== b.width ||
    a.height !== b.height
  )
    return false;
  const [left, right] = [a.data as Record<string, unknown>, b.data as Record<string, unknown>];
  return Object.keys(left).every(
    (key) =>
      typeof left[key] === "function" ||
      left[key] === right[key] ||
      (key === "specs" && sameSpecs(left[key] as Map<string, Spec>, right[key] as Map<string, Spec>)) ||
      ((key === "problems" || key === "conflicts") &&
        JSON.stringify(left[key]) === JSON.stringify(right[key])),
  );
}

function sameSpecs(a: Map<string, Spec>, b: Map<string, Spec>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, spec] of a) {
    const other = b.get(key);
    if (other?.dtype !== spec.dtype || String(other.shape) !== String(spec.shape)) return false;
  }
  return true;
}
