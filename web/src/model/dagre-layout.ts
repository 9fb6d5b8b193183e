/** Layered layout by dagre: producers left of consumers, few crossings. It runs in a worker. */

import dagre from "@dagrejs/dagre";
import { BLOCK_WIDTH, COLUMN_GAP, GAP, type Point, type Rect } from "./geometry.ts";
import { columnLayout, keepCorner, type LayoutInput, type LayoutResult } from "./layout.ts";

/** The most blocks for dagre, which takes 18 s for a thousand. */
const MAX_BLOCKS = 400;

export function dagreLayout(given: LayoutInput): LayoutResult {
  if (given.blocks.length > MAX_BLOCKS) return columnLayout(given);
  const graph = new dagre.graphlib.Graph({ compound: true });
  // Frames need room for their edges and titles.
  const gap = Object.keys(given.frames).length ? GAP + 16 : GAP;
  // Twice as fast on large pages, at hardly any loss.
  const ranker = given.blocks.length > 150 ? "tight-tree" : "network-simplex";
  graph.setGraph({ rankdir: "LR", nodesep: gap, ranksep: COLUMN_GAP, edgesep: 24, ranker });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { name, rect } of given.blocks)
    graph.setNode(`block/${name}`, { width: rect.width, height: rect.height });
  for (const [from, to] of given.wires) graph.setEdge(`block/${from}`, `block/${to}`);
  for (const [block, frame] of Object.entries(given.frames)) {
    graph.setNode(`frame/${frame}`, {});
    graph.setParent(`block/${block}`, `frame/${frame}`);
  }
  dagre.layout(graph);
  const placed = given.blocks.map(({ name, rect }): [string, Rect] => {
    const { x, y } = graph.node(`block/${name}`) as { x: number; y: number };
    return [name, { ...rect, x: x - rect.width / 2, y: y - rect.height / 2 }];
  });
  const middles = placed.map(([, rect]) => rect.x + rect.width / 2);
  const inOrder = [...new Set(middles)].sort((a, b) => a - b);
  const bent = given.wires.map(([from, to]): [string, Point[]] => {
    const { points } = graph.edge(`block/${from}`, `block/${to}`) as { points: Point[] };
    return [`${from} ${to}`, bendsAroundColumns(points, inOrder)];
  });
  return keepCorner(given, placed, bent);
}

/** Bend points where a wire passes other columns, so that it runs straight between their blocks. */
function bendsAroundColumns(points: readonly Point[], middles: readonly number[]): Point[] {
  const [start, end] = [points[0]?.x ?? 0, points.at(-1)?.x ?? 0];
  const passed = middles.filter((x) => x - BLOCK_WIDTH / 2 > start && x + BLOCK_WIDTH / 2 < end);
  const bends = passed.flatMap((x) => {
    const y = heightAt(points, x);
    return [
      { x: x - BLOCK_WIDTH / 2, y },
      { x: x + BLOCK_WIDTH / 2, y },
    ];
  });
  // Points in a straight run are dropped.
  return bends.filter(({ y }, place) => bends[place - 1]?.y !== y || bends[place + 1]?.y !== y);
}

/** The y of a polyline at an x. */
function heightAt(points: readonly Point[], x: number): number {
  const next = points.findIndex((point) => point.x >= x);
  const [a, b] = [points[next - 1] as Point, points[next] as Point];
  return a.x === b.x ? b.y : a.y + ((b.y - a.y) * (x - a.x)) / (b.x - a.x);
}
