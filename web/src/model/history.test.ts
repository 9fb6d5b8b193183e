import fc from "fast-check";
import { expect, test } from "vitest";
import { example, linePage, linePageChecked, ops } from "../testing/fixtures.ts";
import { ALL_ACTIONS, randomAction } from "../testing/random-actions.ts";
import type { PageDocument } from "./document.ts";
import { graphOf } from "./graph.ts";
import {
  commit,
  endMergedStep,
  type History,
  NO_HISTORY,
  type PendingChange,
  rebase,
  redo,
  undo,
} from "./history.ts";

interface Played {
  readonly start: PageDocument;
  readonly end: PageDocument;
  readonly history: History;
  readonly done: ReadonlySet<string>;
  readonly count: number;
}

/** Does one action for each seed. */
function play(start: PageDocument, seeds: readonly number[]): Played {
  let [document, history, graph] = [start, NO_HISTORY, graphOf(start, ops, linePageChecked)];
  const done = new Set<string>();
  let count = 0;
  for (const seed of seeds) {
    const { name, action } = randomAction(graph, seed);
    if (!action?.edits.length) continue;
    ({ document, history } = commit(document, history, action.edits, name));
    graph = graphOf(document, ops, linePageChecked, graph);
    done.add(name);
    count++;
  }
  return { start, end: document, history, done, count };
}

function undoAll(document: PageDocument, history: History): { document: PageDocument; history: History } {
  for (let step = undo(document, history); step; step = undo(document, history))
    ({ document, history } = step);
  return { document, history };
}

function redoAll(document: PageDocument, history: History): PageDocument {
  for (let step = redo(document, history); step; step = redo(document, history))
    ({ document, history } = step);
  return document;
}

const seeds = fc.array(fc.nat(), { minLength: 250, maxLength: 250 });

test("after 10,000 random edits, undoing all gives the start and redoing all the end, to the letter", () => {
  let count = 0;
  const done = new Set<string>();
  fc.assert(
    fc.property(fc.constantFrom(linePage, example("xor_gradients"), {}), seeds, (start, each) => {
      const played = play(start, each);
      const before = JSON.stringify(played.end);
      const back = undoAll(played.end, played.history);
      expect(JSON.stringify(back.document)).toBe(JSON.stringify(start));
      expect(JSON.stringify(redoAll(back.document, back.history))).toBe(before);
      for (const name of played.done) done.add(name);
      count += played.count;
    }),
    { numRuns: 52 },
  );
  expect(count).toBeGreaterThanOrEqual(10_000);
  expect([...done].sort()).toEqual(Object.keys(ALL_ACTIONS).sort());
}, 120_000);

test("steps with the same mark are undone as one", () => {
  const at = (x: number) => [{ path: ["layout", "blocks", "x"], value: [x, 0] }];
  let step = commit(linePage, NO_HISTORY, at(8), "Move", "drag 1");
  step = commit(step.document, step.history, at(16), "Move", "drag 1");
  step = commit(step.document, step.history, at(24), "Move", "drag 1");
  expect(step.history.undo).toHaveLength(1);
  expect(step.history.undo[0]?.edits).toHaveLength(1);
  expect(undo(step.document, step.history)?.document).toEqual(linePage);
});

test("a merged step that has ended is not merged with the next", () => {
  const at = (x: number) => [{ path: ["layout", "blocks", "x"], value: [x, 0] }];
  const first = commit(linePage, NO_HISTORY, at(8), "Move", "nudge");
  const second = commit(first.document, endMergedStep(first.history), at(16), "Move", "nudge");
  expect(second.history.undo).toHaveLength(2);
});

test("merged steps that put and take away are undone to the letter", () => {
  let step = commit(
    linePage,
    NO_HISTORY,
    [{ path: ["notes", "new"], value: { text: "a" } }],
    "Note",
    "typing",
  );
  step = commit(
    step.document,
    step.history,
    [{ path: ["notes", "new", "text"], value: "ab" }],
    "Note",
    "typing",
  );
  expect(step.history.undo).toHaveLength(1);
  expect(JSON.stringify(undo(step.document, step.history)?.document)).toBe(JSON.stringify(linePage));
});

test("a change forgets what could be redone", () => {
  const first = commit(linePage, NO_HISTORY, [{ path: ["title"], value: "a" }], "Title");
  const back = undo(first.document, first.history);
  const second = commit(
    back?.document ?? {},
    back?.history ?? NO_HISTORY,
    [{ path: ["title"], value: "b" }],
    "Title",
  );
  expect(redo(second.document, second.history)).toBeUndefined();
});

test("undo passes over a step whose block another tab has taken away", () => {
  const title = commit(linePage, NO_HISTORY, [{ path: ["title"], value: "a" }], "Title");
  const set = commit(
    title.document,
    title.history,
    [{ path: ["blocks", "x", "about"], value: "ours" }],
    "About",
  );
  const foreign = rebase(set.document, [], [{ path: ["blocks", "x"] }]);
  expect(undo(foreign.document, set.history)?.label).toBe("Title");
});

test("a foreign change goes below changes that wait, and one that does not fit waits until it does", () => {
  const own = (
    number: number,
    path: string[],
    value: string,
    document: PageDocument,
  ): [PendingChange, PageDocument] => {
    const done = commit(document, NO_HISTORY, [{ path, value }], "own");
    return [{ number, label: "own", edits: done.edits, inverse: done.inverse }, done.document];
  };
  const [first, one] = own(1, ["title"], "ours", linePage);
  const [second, two] = own(2, ["blocks", "x", "about"], "ours", one);
  const gone = rebase(
    two,
    [first, second],
    [{ path: ["blocks", "x"] }, { path: ["title"], value: "theirs" }],
  );
  expect(gone.document.title).toBe("ours");
  expect(gone.document.blocks).not.toHaveProperty("x");
  expect(gone.pending.map(({ inverse }) => inverse)).toEqual([[{ path: ["title"], value: "theirs" }], []]);
  const back = rebase(gone.document, gone.pending, [{ path: ["blocks", "x"], value: { op: "Const" } }]);
  expect(back.document.blocks?.x).toEqual({ op: "Const", about: "ours" });
});
