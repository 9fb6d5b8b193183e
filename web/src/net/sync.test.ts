import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { apply, type Edit, type PageDocument } from "../model/document.ts";
import { graphOf } from "../model/graph.ts";
import { type PendingChange, tryApply } from "../model/history.ts";
import { linePage, linePageChecked, ops } from "../testing/fixtures.ts";
import { randomAction } from "../testing/random-actions.ts";
import * as sync from "./sync.ts";

function title(value: string): Edit[] {
  return [{ path: ["title"], value }];
}

function about(block: string, value: string): Edit[] {
  return [{ path: ["blocks", block, "about"], value }];
}

const start = sync.newSyncState("one", linePage, 5);

test("an own change is shown at once, and its revision is known when it is confirmed", () => {
  const { synced, change } = sync.makeChange(start, title("new"), "Title");
  expect(synced.document.title).toBe("new");
  expect(synced.revision).toBe(5);
  expect(sync.expectedRevision(synced)).toBe(6);
  const sure = sync.acknowledged(synced, change.number, 6);
  expect(sure.pending).toEqual([]);
  expect(sync.expectedRevision(sure)).toBe(6);
});

test("undo is a change that is sent, too", () => {
  const { synced } = sync.makeChange(start, title("new"), "Title");
  const back = sync.undoChange(synced);
  expect(back?.change).toMatchObject({ number: 2, edits: title("A line"), label: "Title" });
  expect(back?.synced.pending).toHaveLength(2);
  expect(sync.redoChange(back?.synced ?? start)?.synced.document.title).toBe("new");
  expect(sync.undoChange(start)).toBeUndefined();
});

test("a change that the server refuses is taken back, and those after it stay", () => {
  const one = sync.makeChange(start, about("x", "first"), "About").synced;
  const two = sync.makeChange(one, title("second"), "Title").synced;
  const left = sync.revertRefused(two, 1);
  expect(left.document.blocks?.x).not.toHaveProperty("about");
  expect(left.document.title).toBe("second");
  expect(left.pending.map(({ number }) => number)).toEqual([2]);
});

test("a revert can be undone although the server made it", () => {
  const { synced } = sync.makeChange(start, title("new"), "Title");
  const reverted = sync.applyForeign(sync.acknowledged(synced, 1, 6), title("A line"), 7, "Revert");
  expect(reverted.document.title).toBe("A line");
  expect(sync.undoChange(reverted)?.synced.document.title).toBe("new");
});

describe("after the connection was lost", () => {
  const one = sync.makeChange(start, about("x", "first"), "About").synced;
  const two = sync.makeChange(one, title("second"), "Title").synced;

  test("changes that had not arrived are sent again", () => {
    const again = sync.rebaseReopened(two, linePage, 5);
    expect(again.pending.map(({ number }) => number)).toEqual([1, 2]);
    expect(again.document).toEqual(two.document);
  });

  test("changes that had arrived are not", () => {
    const again = sync.rebaseReopened(two, apply(linePage, about("x", "first")).document, 6, [1]);
    expect(again.pending.map(({ number }) => number)).toEqual([2]);
    expect(again.document).toEqual(two.document);
    expect(sync.rebaseReopened(two, two.document, 7, [1, 2])).toMatchObject({
      pending: [],
      document: two.document,
    });
  });

  test("changes go on top of what another tab did meanwhile", () => {
    const theirs = apply(linePage, [{ path: ["blocks", "y"] }, ...title("theirs")]).document;
    const again = sync.rebaseReopened(two, theirs, 9);
    expect(again.document.title).toBe("second");
    expect(again.document.blocks).not.toHaveProperty("y");
    expect(again.revision).toBe(9);
  });
});

interface News {
  readonly client: string;
  readonly number: number;
  readonly edits: readonly Edit[];
  readonly revision: number;
  readonly refused?: boolean;
}

/** A server as the studio's: applies changes in the order in which they arrive, drops repeats, and tells every tab. */
class Server {
  document = linePage;
  revision = 0;
  readonly applied = new Map<string, number[]>();
  readonly tabs: Tab[] = [];

  take(tab: Tab, { number, edits }: PendingChange): void {
    const { client } = tab.synced;
    const numbers = this.applied.get(client) ?? [];
    if (numbers.includes(number)) {
      tab.inbox.push({ client, number, edits: [], revision: this.revision });
      return;
    }
    const isLate = numbers.some((each) => each > number);
    const after = isLate ? undefined : tryApply(this.document, edits);
    if (!after) {
      tab.inbox.push({ client, number, edits, revision: this.revision, refused: true });
      return;
    }
    this.document = after.document;
    this.revision++;
    this.applied.set(client, [...numbers, number]);
    for (const each of this.tabs) each.inbox.push({ client, number, edits, revision: this.revision });
  }
}

/** A tab, with what is on its way from and to the server. */
class Tab {
  synced: sync.SyncState;
  inbox: News[] = [];
  outbox: PendingChange[] = [];

  constructor(
    client: string,
    private readonly server: Server,
  ) {
    this.synced = sync.newSyncState(client, linePage, 0);
    server.tabs.push(this);
  }

  change(own: sync.OwnChange | undefined): void {
    if (!own) return;
    this.synced = own.synced;
    this.outbox.push(own.change);
  }

  /** The next change arrives at the server. */
  send(): void {
    const next = this.outbox.shift();
    if (next) this.server.take(this, next);
  }

  /** The next message arrives here. */
  hear(): void {
    const news = this.inbox.shift();
    if (!news) return;
    const { number, edits, revision } = news;
    if (news.client !== this.synced.client) this.synced = sync.applyForeign(this.synced, edits, revision);
    else if (news.refused) this.synced = sync.revertRefused(this.synced, number);
    else this.synced = sync.acknowledged(this.synced, number, revision);
  }

  /** The connection is lost with all that is on its way, and the page is opened again. */
  reconnect(): void {
    const { document, revision, applied } = this.server;
    this.inbox = [];
    this.synced = sync.rebaseReopened(this.synced, document, revision, applied.get(this.synced.client));
    this.outbox = [...this.synced.pending];
  }
}

test("two tabs that lose connections end with the same page as the server, and each change is made once", () => {
  const step = fc.record({
    tab: fc.constantFrom(0, 1),
    what: fc.constantFrom("change", "change", "undo", "send", "send", "hear", "hear", "reconnect"),
    seed: fc.nat(),
  });
  let changes = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
      const server = new Server();
      const tabs = [new Tab("one", server), new Tab("two", server)] as const;
      for (const { tab: which, what, seed } of steps) {
        const tab = tabs[which] as Tab;
        const { synced } = tab;
        if (what === "change") {
          const edits = randomAction(graphOf(synced.document, ops, linePageChecked), seed).action?.edits;
          if (edits?.length) tab.change(sync.makeChange(synced, edits, ""));
        } else if (what === "undo") tab.change(sync.undoChange(synced));
        else tab[what]();
      }
      for (const tab of tabs) while (tab.outbox.length) tab.send();
      for (const tab of tabs) while (tab.inbox.length) tab.hear();
      for (const { synced } of tabs) {
        expect(synced.pending).toEqual([]);
        expect(JSON.stringify(synced.document)).toBe(JSON.stringify(server.document as PageDocument));
        expect(synced.revision).toBe(server.revision);
      }
      const made = [...server.applied.values()].flat();
      expect(made).toHaveLength(server.revision);
      changes += made.length;
    }),
    { numRuns: 200 },
  );
  expect(changes).toBeGreaterThan(1000);
}, 60_000);
