import { describe, expect, test } from "vitest";
import { example, exampleTexts, graphWith } from "../testing/fixtures.ts";
import { dagreLayout } from "./dagre-layout.ts";
import { apply, type PageDocument } from "./document.ts";
import { applyLayout } from "./edit-layout.ts";
import {
  bendsOf,
  blockRects,
  bounds,
  boxRect,
  contains,
  curvesBetween,
  overlaps,
  type Point,
  pointOn,
  type Rect,
  wireEnds,
} from "./geometry.ts";
import { columnLayout, layoutInput, type Places } from "./layout.ts";
import { seededRandom } from "./presets.ts";

function crowded(places: Places): number {
  const rects = [...places.values()];
  let count = 0;
  for (const [i, a] of rects.entries()) for (const b of rects.slice(i + 1)) if (overlaps(a, b)) count++;
  return count;
}

describe.each([
  ["tidy", dagreLayout],
  ["columns", columnLayout],
])("%s", (_, layout) => {
  const graph = graphWith(example("spheres_and_cubes"));
  const before = blockRects(graph);
  const after = layout(layoutInput(graph, before)).places;

  test("puts every block somewhere, and none on another", () => {
    expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
    expect(crowded(after)).toBe(0);
  });

  test("lets wires go to the right", () => {
    for (const { from, to } of graph.wires) {
      expect((after.get(from.block) as Rect).x + 200).toBeLessThan((after.get(to.block) as Rect).x);
    }
  });

  test("keeps the left top corner", () => {
    const corner = (places: Iterable<Rect>): number[] => {
      const all = [...places];
      return [Math.min(...all.map(({ x }) => x)), Math.min(...all.map(({ y }) => y))];
    };
    const [x, y] = corner(before.values());
    const [newX, newY] = corner(after.values());
    expect(Math.abs((newX as number) - (x as number))).toBeLessThanOrEqual(4);
    expect(Math.abs((newY as number) - (y as number))).toBeLessThanOrEqual(4);
  });
});

test("only what is selected moves", () => {
  const page = example("xor_gradients");
  const graph = graphWith(page);
  const only = new Set(["product1", "sum1", "hidden"]);
  const tidied = dagreLayout(layoutInput(graph, blockRects(graph), only));
  expect(new Set(tidied.places.keys())).toEqual(only);
  const { document } = apply(page, applyLayout(graph, tidied, blockRects(graph)).edits);
  expect(document.layout?.blocks?.out).toEqual(page.layout?.blocks?.out);
});

test.each([...exampleTexts.keys()])("in %s nothing covers another after it was tidied", (name) => {
  const page = example(name);
  const before = blockRects(graphWith(page));
  const graph = graphWith(page);
  const { document } = apply(page, applyLayout(graph, dagreLayout(layoutInput(graph, before)), before).edits);
  const places = blockRects(graphWith(document));
  const boxes = [
    ...Object.keys(page.notes ?? {}).map((each) => boxRect(document, "notes", each, places)),
    ...Object.keys(page.monitors ?? {}).map((each) => boxRect(document, "monitors", each, places)),
  ];
  expect(boxes.length).toBeGreaterThan(0);
  for (const box of boxes) for (const rect of places.values()) expect(overlaps(box, rect)).toBe(false);
  const frames = Object.keys(page.frames ?? {}).map((each) => ({
    each,
    rect: boxRect(document, "frames", each, places),
  }));
  for (const { each, rect } of frames) {
    const inside = new Set(page.frames?.[each]?.blocks);
    for (const [block, place] of places)
      expect(overlaps(rect, place), `${each} and ${block}`).toBe(inside.has(block));
    for (const other of frames)
      expect(overlaps(rect, other.rect), `${each} and ${other.each}`).toBe(other.each === each);
  }
  const [above] = boxes;
  expect(above?.y).toBeLessThan(Math.min(...[...places.values()].map(({ y }) => y)));
});

/** Which wires pass behind which blocks. */
function hidden(document: PageDocument): string[] {
  const graph = graphWith(document);
  const places = blockRects(graph);
  return graph.wires.flatMap((wire) => {
    const [start, end] = wireEnds(graph, places, wire) as [Point, Point];
    const curves = curvesBetween([start, ...bendsOf(document, wire), end]);
    const points = curves.flatMap((curve) => Array.from({ length: 20 }, (_, i) => pointOn(curve, i / 20)));
    const behind = [...places].filter(([, { x, y, width, height }]) => {
      const inner = { x: x + 1, y: y + 1, width: width - 2, height: height - 2 };
      return points.some((point) => contains(inner, point));
    });
    return behind.map(([block]) => `${wire.source} to ${wire.id} behind ${block}`);
  });
}

test.each([...exampleTexts.keys()])("in %s wires go around blocks, as it comes and tidied", (name) => {
  const page = example(name);
  expect(hidden(page)).toEqual([]);
  const graph = graphWith(page);
  const places = blockRects(graph);
  const tidied = applyLayout(graph, dagreLayout(layoutInput(graph, places)), places);
  expect(hidden(apply(page, tidied.edits).document)).toEqual([]);
});

test.each([...exampleTexts.keys()])("in %s blocks are in sight when it opens", (name) => {
  const graph = graphWith(example(name));
  const places = blockRects(graph);
  const notes = Object.keys(graph.document.notes ?? {}).map((each) =>
    boxRect(graph.document, "notes", each, places),
  );
  const { x, y } = bounds([...places.values(), ...notes]) as Rect;
  // A page too large for the window is shown from its corner; this much of it can be seen.
  const first = { x, y, width: 1300, height: 750 };
  const seen = [...places.values()].filter((rect) => overlaps(rect, first));
  expect(seen.length).toBeGreaterThanOrEqual(Math.min(places.size, 3));
});

test("cycles do no harm", () => {
  const cycle: PageDocument = {
    blocks: { a: { op: "Relu", in: { features: "b" } }, b: { op: "Relu", in: { features: "a" } } },
  };
  const graph = graphWith(cycle);
  expect(dagreLayout(layoutInput(graph, blockRects(graph))).places.size).toBe(2);
  expect(columnLayout(layoutInput(graph, blockRects(graph))).places.size).toBe(2);
});

test("columns untangle wires", () => {
  const next = seededRandom(3);
  const blocks: PageDocument["blocks"] = {};
  const places: Record<string, number[]> = {};
  for (let row = 0; row < 12; row++) {
    for (let column = 0; column < 12; column++) {
      const block = column
        ? { op: "Relu", in: { features: `r${row}_${column - 1}:activations` } }
        : { op: "Const" };
      Object.assign(blocks, { [`r${row}_${column}`]: block });
      places[`r${row}_${column}`] = [Math.floor(next() * 2000), Math.floor(next() * 2000)];
    }
  }
  const graph = graphWith({ blocks, layout: { blocks: places } });
  const after = columnLayout(layoutInput(graph, blockRects(graph))).places;
  const height = (name: string): number => (after.get(name) as Rect).y;
  const crossing = graph.wires.filter((a) =>
    graph.wires.some(
      (b) =>
        after.get(a.from.block)?.x === after.get(b.from.block)?.x &&
        height(a.from.block) < height(b.from.block) &&
        height(a.to.block) > height(b.to.block),
    ),
  );
  expect(crossing).toEqual([]);
});

test("of a thousand blocks none stands over another", () => {
  const next = seededRandom(7);
  const blocks: Record<string, { op: string; in?: Record<string, string> }> = {};
  for (let i = 0; i < 1000; i++) {
    blocks[`b${i}`] = i
      ? { op: "AddV2", in: { x: `b${Math.floor(next() * i)}:z`, y: `b${Math.floor(next() * i)}:z` } }
      : { op: "Const" };
  }
  const graph = graphWith({ blocks });
  const given = layoutInput(graph, blockRects(graph));
  expect(crowded(dagreLayout(given).places)).toBe(0);
});
