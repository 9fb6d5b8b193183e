import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { apply, type Edit, type PageDocument } from "../model/document.ts";
import { graphOf } from "../model/graph.ts";
import { attempt } from "../model/history.ts";
import { linePage, linePageChecked, ops } from "../testing/fixtures.ts";
import { randomAction } from "../testing/random-actions.ts";
import * as sync from "./sync.ts";

function title(value: string): Edit[] {
  return [{ path: ["title"], value }];
}

function about(block: string, value: string): Edit[] {
  return [{ path: ["blocks", block, "about"], value }];
}

const start = sync.opened(linePage, 5);

test("an own change is shown at once, and its revision is known when it is confirmed", () => {
  const { synced, change } = sync.change(start, 1, title("new"), "Title");
  expect(synced.document.title).toBe("new");
  expect(synced.revision).toBe(5);
  expect(sync.revisionToCome(synced)).toBe(6);
  const sure = sync.confirmed(synced, change.number, 6);
  expect(sure.pending).toEqual([]);
  expect(sync.revisionToCome(sure)).toBe(6);
});

test("undo is a change that is sent, too", () => {
  const { synced } = sync.change(start, 1, title("new"), "Title");
  const back = sync.undone(synced, 2);
  expect(back?.change).toMatchObject({ number: 2, edits: title("A line"), label: "Title" });
  expect(back?.synced.pending).toHaveLength(2);
  expect(sync.redone(back?.synced ?? start, 3)?.synced.document.title).toBe("new");
  expect(sync.undone(start, 4)).toBeUndefined();
});

test("a change that the server refuses is taken back, and those after it stay", () => {
  const one = sync.change(start, 1, about("x", "first"), "About").synced;
  const two = sync.change(one, 2, title("second"), "Title").synced;
  const left = sync.refused(two, 1);
  expect(left.document.blocks?.x).not.toHaveProperty("about");
  expect(left.document.title).toBe("second");
  expect(left.pending.map(({ number }) => number)).toEqual([2]);
});

test("a revert can be undone although the server made it", () => {
  const { synced } = sync.change(start, 1, title("new"), "Title");
  const reverted = sync.changedByOther(sync.confirmed(synced, 1, 6), title("A line"), 7, "Revert");
  expect(reverted.document.title).toBe("A line");
  expect(sync.undone(reverted, 2)?.synced.document.title).toBe("new");
});

describe("after the connection was lost", () => {
  const one = sync.change(start, 1, about("x", "first"), "About").synced;
  const two = sync.change(one, 2, title("second"), "Title").synced;

  test("changes that had not arrived are sent again", () => {
    const again = sync.reopened(two, linePage, 5);
    expect(again.pending.map(({ number }) => number)).toEqual([1, 2]);
    expect(again.document).toEqual(two.document);
  });

  test("changes that had arrived are not", () => {
    const again = sync.reopened(two, apply(linePage, about("x", "first")).document, 6);
    expect(again.pending.map(({ number }) => number)).toEqual([2]);
    expect(sync.reopened(two, two.document, 7).pending).toEqual([]);
  });

  test("changes go on top of what another tab did meanwhile", () => {
    const theirs = apply(linePage, [{ path: ["blocks", "y"] }, ...title("theirs")]).document;
    const again = sync.reopened(two, theirs, 9);
    expect(again.document.title).toBe("second");
    expect(again.document.blocks).not.toHaveProperty("y");
    expect(again.revision).toBe(9);
  });
});

/** A server as STUDIO's is: takes changes in the order in which they arrive, all or nothing, and tells every tab. */
class Server {
  document = linePage;
  revision = 0;
  readonly told: {
    tab: number;
    number: number;
    edits: readonly Edit[];
    refused: boolean;
    revision: number;
  }[] = [];

  take(tab: number, number: number, edits: readonly Edit[]): void {
    const applied = attempt(this.document, edits);
    if (applied) {
      this.document = applied.document;
      this.revision++;
    }
    this.told.push({ tab, number, edits, refused: !applied, revision: this.revision });
  }
}

test("two tabs that change a page at the same time end with the same page as the server", () => {
  const step = fc.record({
    tab: fc.constantFrom(0, 1),
    what: fc.constantFrom("change", "undo", "listen", "listen"),
    seed: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
      const server = new Server();
      const tabs = [sync.opened(linePage, 0), sync.opened(linePage, 0)];
      const heard = [0, 0];
      let numbers = 0;
      const listen = (tab: number): void => {
        const now = tabs[tab] as sync.Synced;
        const news = server.told[heard[tab] as number];
        if (!news) return;
        heard[tab] = (heard[tab] as number) + 1;
        if (news.tab === tab)
          tabs[tab] = news.refused
            ? sync.refused(now, news.number)
            : sync.confirmed(now, news.number, news.revision);
        else if (!news.refused) tabs[tab] = sync.changedByOther(now, news.edits, news.revision);
      };
      for (const { tab, what, seed } of steps) {
        const now = tabs[tab] as sync.Synced;
        if (what === "listen") listen(tab);
        else {
          const action = randomAction(graphOf(now.document, ops, linePageChecked), seed).action;
          const own =
            what === "undo"
              ? sync.undone(now, ++numbers)
              : action?.edits.length
                ? sync.change(now, ++numbers, action.edits, "")
                : undefined;
          if (!own) continue;
          tabs[tab] = own.synced;
          server.take(tab, own.change.number, own.change.edits);
        }
      }
      for (const tab of [0, 1]) while ((heard[tab] as number) < server.told.length) listen(tab);
      for (const tab of tabs) {
        expect(tab.pending).toEqual([]);
        expect(JSON.stringify(tab.document)).toBe(JSON.stringify(server.document as PageDocument));
        expect(tab.revision).toBe(server.revision);
      }
    }),
    { numRuns: 200 },
  );
}, 60_000);
