import fc from "fast-check";
import { expect, test } from "vitest";
import { overlaps, type Rect } from "./geometry.ts";
import { fitView } from "./viewport.ts";

const tools: Rect[] = [
  { x: 12, y: 550, width: 280, height: 38 },
  { x: 812, y: 476, width: 176, height: 112 },
];
const window = { width: 1000, height: 600, minZoom: 0.05, tools };

const rect = fc.record({
  x: fc.integer({ min: -3000, max: 3000 }),
  y: fc.integer({ min: -3000, max: 3000 }),
  width: fc.integer({ min: 64, max: 400 }),
  height: fc.integer({ min: 64, max: 400 }),
});

test("all is in the window, and nothing lies under a tool", () => {
  fc.assert(
    fc.property(fc.array(rect, { minLength: 1, maxLength: 12 }), (rects) => {
      const view = fitView(rects, window);
      if (view === undefined) throw new Error("nothing is shown");
      const { x, y, zoom } = view;
      expect(zoom).toBeLessThanOrEqual(1);
      for (const each of rects) {
        const seen = {
          x: each.x * zoom + x,
          y: each.y * zoom + y,
          width: each.width * zoom,
          height: each.height * zoom,
        };
        expect(seen.x).toBeGreaterThan(0);
        expect(seen.y).toBeGreaterThan(0);
        expect(seen.x + seen.width).toBeLessThan(window.width);
        expect(seen.y + seen.height).toBeLessThan(window.height);
        for (const tool of tools) expect(overlaps(seen, tool)).toBe(false);
      }
    }),
  );
});

test("what meets no tool has the whole window", () => {
  const rects = [{ x: 0, y: 0, width: 400, height: 200 }];
  expect(fitView(rects, window)).toEqual(fitView(rects, { ...window, tools: [] }));
  expect(fitView([], window)).toBeUndefined();
});
