import { expect, test } from "vitest";
import type { RunRecord } from "../net/generated.ts";
import { earlierCurves, flameParts, mainRun, mergeRuns, NO_RUNS, sortCosts } from "./runs.ts";

const record = (run: number, more: Partial<RunRecord> = {}): RunRecord => ({
  run,
  mode: "steps",
  started: 0,
  end: "done",
  ...more,
});

test("the run button does what the page's run settings say", () => {
  expect(mainRun({ blocks: {} })).toEqual({ mode: "once" });
  expect(mainRun({ blocks: {}, run: { steps: 1 } })).toEqual({ mode: "once" });
  expect(mainRun({ blocks: {}, run: { steps: 77 } })).toEqual({ mode: "steps", steps: 77 });
  expect(mainRun({ blocks: {}, run: { steps: 77, until: "a:b" } })).toEqual({ mode: "until", steps: 77 });
});

test("messages add, replace and drop runs", () => {
  const two = mergeRuns(NO_RUNS, { kind: "runs", page: 1, kept: [1, 2], changed: [record(1), record(2)] });
  const after = mergeRuns(two, {
    kind: "runs",
    page: 1,
    kept: [2],
    changed: [record(2, { seconds: 3 })],
    dropped: 1,
  });
  expect(after.records).toEqual([record(2, { seconds: 3 })]);
  expect(after.dropped).toBe(1);
});

test("a trend overlays earlier runs but not those that it continues, nor hidden ones", () => {
  const curves = { loss: { steps: [1, 2], values: [[3, 4]] } };
  const records = [
    record(1, { curves, lineage: 1 }),
    record(2, { curves, lineage: 1 }),
    record(3, { curves, lineage: 2 }),
  ];
  const list = { records, dropped: 0, mostSnapshots: 8 };
  const runs = (hidden: number[], own?: typeof curves.loss) =>
    earlierCurves(list, new Set(hidden), "loss", own).map(({ run }) => run);
  expect(runs([], curves.loss)).toEqual([1, 2]);
  expect(runs([1], curves.loss)).toEqual([2]);
  expect(runs([])).toEqual([1, 2, 3]);
  expect(earlierCurves(list, new Set(), "other", undefined)).toEqual([]);
});

test("blocks are sorted, and the flame bar adds up scopes", () => {
  const costs = [
    { block: "in", seconds: 1, bytes: 5 },
    { block: "layer/a", seconds: 2, bytes: 9 },
    { block: "layer/b", seconds: 1 },
    { block: "none" },
  ];
  expect(sortCosts(costs, "seconds", false).map(({ block }) => block)).toEqual([
    "layer/a",
    "in",
    "layer/b",
    "none",
  ]);
  expect(sortCosts(costs, "bytes", false)[0]?.block).toBe("layer/a");
  expect(sortCosts(costs, "block", true)[0]?.block).toBe("none");
  expect(flameParts(costs)).toEqual([
    { name: "in", depth: 0, left: 0, width: 0.25, seconds: 1, isBlock: true },
    { name: "layer", depth: 0, left: 0.25, width: 0.75, seconds: 3, isBlock: false },
    { name: "layer/a", depth: 1, left: 0.25, width: 0.5, seconds: 2, isBlock: true },
    { name: "layer/b", depth: 1, left: 0.75, width: 0.25, seconds: 1, isBlock: true },
  ]);
  expect(flameParts([{ block: "none" }])).toEqual([]);
});
