import { expect, test } from "vitest";
import { LivePage } from "./live.ts";

const summary = { dtype: "float32", shape: [], text: "1" };

test("who shows a block is called when its state or one of its values changes, and others are not", () => {
  const live = new LivePage();
  const calls: string[] = [];
  const stop = live.onBlock("a", () => calls.push("a"));
  live.onBlock("b", () => calls.push("b"));
  live.onAny(() => calls.push("any"));
  live.applyStates({
    kind: "block states",
    page: 1,
    revision: 1,
    blocks: [{ block: "a", state: "done", seconds: 0.1 }],
  });
  live.applyResults({
    kind: "summaries",
    page: 1,
    revision: 1,
    step: 1,
    pins: { "a:x": summary, "a:y": summary },
  });
  expect(calls).toEqual(["a", "any", "a", "any"]);
  stop();
  live.applyStates({
    kind: "block states",
    page: 1,
    revision: 1,
    blocks: [{ block: "a", state: "running" }],
  });
  expect(calls.filter((each) => each === "a")).toHaveLength(2);
  expect(live.blockState("a")?.state).toBe("running");
  expect(live.summary("a:y")?.text).toBe("1");
});

test("a value is stale after a change until a run of that change gives it anew", () => {
  const live = new LivePage();
  const results = (revision: number): void =>
    live.applyResults({ kind: "summaries", page: 1, revision, step: 1, pins: { "a:x": summary } });
  results(3);
  live.changed(["a"], 4, true);
  expect(live.isStale("a:x")).toBe(true);
  results(3);
  expect(live.isStale("a:x")).toBe(true);
  results(4);
  expect(live.isStale("a:x")).toBe(false);
});

test("trends go on where they were, and begin anew when they are fresh or go back", () => {
  const live = new LivePage();
  const take = (steps: number[], fresh = false): void =>
    live.applyMonitored({
      kind: "monitored",
      page: 1,
      monitors: { m: { steps, values: [[...steps], steps.map((step) => -step)] } },
      fresh,
    });
  take([1, 2]);
  take([3]);
  expect(live.series("m")).toEqual({
    steps: [1, 2, 3],
    values: [
      [1, 2, 3],
      [-1, -2, -3],
    ],
  });
  take([1]);
  expect(live.series("m")?.steps).toEqual([1]);
  take([2]);
  take([7], true);
  expect(live.series("m")?.steps).toEqual([7]);
});

test("a run that begins forgets the states of the last one and keeps values", () => {
  const live = new LivePage();
  live.applyStates({ kind: "block states", page: 1, revision: 1, blocks: [{ block: "a", state: "failed" }] });
  live.applyResults({ kind: "summaries", page: 1, revision: 1, step: 1, pins: { "a:x": summary } });
  live.startRun({ kind: "run", page: 1 });
  expect(live.blockState("a")).toBeUndefined();
  expect(live.summary("a:x")).toBeDefined();
});

test("what is printed is kept line by line, and told to its block, until the next run", () => {
  const live = new LivePage();
  let told = 0;
  live.onBlock("p", () => told++);
  live.applyConsole({ kind: "console output", page: 1, lines: [{ block: "p", text: "one\n" }] });
  live.applyConsole({ kind: "console output", page: 1, lines: [{ block: "p", text: "two\n" }] });
  expect(live.consoleLines.map(({ text }) => text)).toEqual(["one", "two"]);
  expect(told).toBe(2);
  live.startRun({ kind: "run", page: 1 });
  expect(live.consoleLines).toEqual([]);
});
