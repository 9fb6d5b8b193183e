import { beforeEach, describe, expect, test, vi } from "vitest";
import { apply, type Edit, type PageDocument } from "../model/document.ts";
import type { Change, ClientMessage, ServerMessage } from "../net/generated.ts";
import { FakeSocket } from "../testing/fake-socket.ts";
import { linePage, linePageChecked, ops } from "../testing/fixtures.ts";
import { live } from "./live.ts";
import { isJournaled, type KeptHistory, type PageState, Studio, useStudio } from "./store.ts";

let sockets: FakeSocket[];
let studio: Studio;
const fresh = useStudio.getState();

beforeEach(() => {
  vi.useFakeTimers();
  sockets = [];
  useStudio.setState(fresh, true);
  live(1).clear();
  studio = new Studio(() => {
    const socket = new FakeSocket();
    sockets.push(socket);
    return socket;
  });
  studio.setOps(ops.all.filter(({ group }) => group !== "page"));
  connect();
});

function connect(session = "a"): void {
  if (!sockets.length) studio.start();
  sockets.at(-1)?.open();
  say({ kind: "welcome", session, version: "1", folder: "/pages", lessons: [] });
}

function say(message: ServerMessage): void {
  sockets.at(-1)?.say(JSON.stringify(message));
}

function sent<Kind extends ClientMessage["kind"]>(kind: Kind): Extract<ClientMessage, { kind: Kind }>[] {
  const all = (sockets.at(-1)?.sent ?? []).map((text) => JSON.parse(text) as ClientMessage);
  return all.filter((command) => command.kind === kind) as Extract<ClientMessage, { kind: Kind }>[];
}

async function open(
  document: PageDocument = linePage,
  page = 1,
  path = "line.page.json",
): Promise<PageState> {
  const opening = studio.open({ path });
  const request = sent("open").at(-1)?.request ?? 0;
  say({
    kind: "opened",
    request,
    page,
    document: document,
    revision: 3,
    path,
  });
  await opening;
  return now(page);
}

function now(page = 1): PageState {
  return studio.page(page) as PageState;
}

function setTitle(title: string): void {
  studio.commit(1, [{ path: ["title"], value: title }], { kind: "title" });
}

describe("tabs of an earlier session", () => {
  const answer = (request: number, page: number, path: string) =>
    say({ kind: "opened", request, page, document: linePage, revision: 3, path });

  test("are opened again in their order, with their viewports, and the same one is active", async () => {
    const pages = [
      { path: "a.page.json", viewport: [1, 2, 0.5] },
      { unsaved: "new-1", lesson: "line", untouched: true },
      { path: "gone.page.json" },
    ];
    const restoring = studio.restore({ pages, active: 1 });
    expect(useStudio.getState().restoring).toBe(true);
    expect(studio.tabState()).toBeUndefined();
    const [first, second, third] = sent("open");
    expect(second).toMatchObject({ unsaved: "new-1", lesson: "line", untouched: true });
    answer(second?.request ?? 0, 7, "");
    answer(first?.request ?? 0, 8, "a.page.json");
    expect(useStudio.getState().active).toBeNull();
    say({ kind: "refused", request: third?.request ?? 0, text: "It is gone." });
    await restoring;
    expect(useStudio.getState()).toMatchObject({ tabs: [8, 7], active: 7, restoring: false });
    expect(useStudio.getState().notices.at(-1)?.text).toBe("It is gone.");
    expect(live(8).viewport).toEqual({ x: 1, y: 2, zoom: 0.5 });
    expect(studio.tabState()?.pages[0]).toEqual(pages[0]);
    expect(studio.tabState()?.active).toBe(1);
  });

  test("have their undo histories, unless the page was changed meanwhile", async () => {
    await open();
    setTitle("new");
    const kept = studio.histories();
    studio.close(1);
    await open({ ...linePage, title: "new" });
    studio.restoreHistories(kept);
    expect(now().synced.history.undo).toEqual([]); // of another revision
    studio.restoreHistories({ "line.page.json": { ...kept["line.page.json"], revision: 3 } as KeptHistory });
    studio.undo(1);
    expect(now().document.title).toBe(linePage.title);
  });
});

describe("a page", () => {
  test("is shown when it is opened, with its graph and places", async () => {
    const page = await open();
    expect(page.graph.wires).toHaveLength(15);
    expect(page.places.size).toBe(11);
    expect(useStudio.getState()).toMatchObject({ tabs: [1], active: 1 });
    expect(page.dirty).toBe(false);
  });

  test("is changed at once, and the change is sent with its label", async () => {
    await open();
    setTitle("new");
    expect(now().document.title).toBe("new");
    expect(sent("change")).toEqual([
      {
        kind: "change",
        page: 1,
        client: now().synced.client,
        number: 1,
        edits: [{ path: ["title"], value: "new" }],
        label: "Title and description",
      },
    ]);
    expect(now().dirty).toBe(true);
    expect(isJournaled(now())).toBe(false);
    say({ kind: "changed", page: 1, revision: 4, edits: [], client: now().synced.client, number: 1 });
    say({ kind: "journaled", page: 1, revision: 4 });
    expect(isJournaled(now())).toBe(true);
    say({ kind: "saved", page: 1, revision: 4, path: "line.page.json" });
    expect(now().dirty).toBe(false);
  });

  test("without a file is unchanged until it is changed", async () => {
    const opening = studio.open({ lesson: "line" });
    const request = sent("open").at(-1)?.request ?? 0;
    say({ kind: "opened", request, page: 1, document: linePage, revision: 0 });
    await opening;
    expect(now().dirty).toBe(false);
    setTitle("new");
    expect(now().dirty).toBe(true);
  });

  test("is clean again when its changes are undone, and dirty after a save by another tab was undone", async () => {
    await open();
    setTitle("new");
    setTitle("newer");
    studio.undo(1);
    expect(now().dirty).toBe(true);
    studio.undo(1);
    expect(now().dirty).toBe(false);
    studio.redo(1);
    say({ kind: "saved", page: 1, revision: 3, path: "line.page.json" });
    // The changes are still on their way: the file has none of them.
    expect(now().dirty).toBe(true);
    const { client, number } = now().synced;
    for (let each = 1; each <= number; each++)
      say({ kind: "changed", page: 1, revision: 3 + each, edits: [], client, number: each });
    say({ kind: "saved", page: 1, revision: 3 + number, path: "line.page.json" });
    expect(now().dirty).toBe(false);
    studio.undo(1);
    expect(now().dirty).toBe(true);
  });

  test("whose draft was found is dirty, and one whose file is gone always", async () => {
    for (const saved of [{ ...linePage, title: "in the file" }, null]) {
      const opening = studio.open();
      const request = sent("open").at(-1)?.request ?? 0;
      const page = saved === null ? 2 : 1;
      say({ kind: "opened", request, page, document: linePage, revision: 1, saved });
      await opening;
      expect(now(page).dirty).toBe(true);
    }
    setTitle("in the file");
    expect(now().dirty).toBe(false);
  });

  test("that is closed with changes says where they are, and can be opened again", async () => {
    await open();
    setTitle("new");
    studio.close(1);
    expect(useStudio.getState().notices.at(-1)).toMatchObject({ command: "reopen" });
    expect(useStudio.getState().notices.at(-1)?.text).toContain("line.page.json");
    const reopening = studio.reopenClosed();
    const { request, path } = sent("open").at(-1) ?? {};
    expect(path).toBe("line.page.json");
    say({
      kind: "opened",
      request: request ?? 0,
      page: 4,
      document: linePage,
      revision: 3,
      path: "line.page.json",
    });
    await reopening;
    expect(useStudio.getState()).toMatchObject({ tabs: [4], active: 4, closed: [], notices: [] });
  });

  test("that is closed without changes is closed without a word", async () => {
    await open();
    studio.close(1);
    expect(useStudio.getState().notices).toEqual([]);
  });

  test("that has no edits to make is not changed", async () => {
    await open();
    studio.commit(1, [], { kind: "move" });
    expect(sent("change")).toEqual([]);
  });

  test("is undone and redone by changes", async () => {
    await open();
    setTitle("new");
    studio.undo(1);
    expect(now().document.title).toBe("A line");
    studio.redo(1);
    expect(now().document.title).toBe("new");
    expect(sent("change").map(({ number }) => number)).toEqual([1, 2, 3]);
    studio.redo(1);
    expect(sent("change")).toHaveLength(3);
  });

  test("shows what another tab did below what this one did", async () => {
    await open();
    setTitle("ours");
    say({
      kind: "changed",
      page: 1,
      revision: 4,
      client: "another tab",
      number: 1,
      edits: [
        { path: ["title"], value: "theirs" },
        { path: ["about"], value: "theirs" },
      ],
    });
    expect(now().document).toMatchObject({ title: "ours", about: "theirs" });
    studio.undo(1);
    expect(now().document.title).toBe("A line");
  });

  test("takes back what the server refuses, and says why", async () => {
    await open();
    setTitle("new");
    say({ kind: "refused", text: "The page has changed meanwhile.", page: 1, number: 1 });
    expect(now().document.title).toBe("A line");
    expect(useStudio.getState().notices.at(-1)?.text).toBe("The page has changed meanwhile.");
  });

  test("forgets the selection of what is gone", async () => {
    await open();
    studio.select(1, ["block/x", "block/y", "wire/guess:x", "note/what"]);
    studio.commit(1, [{ path: ["blocks", "x"] }, { path: ["blocks", "guess", "in", "x"] }], {
      kind: "remove",
    });
    expect([...now().selection]).toEqual(["block/y", "note/what"]);
  });

  test("gets the types on its wires when they have been checked", async () => {
    await open();
    say({ ...linePageChecked, problems: [{ text: "wrong", block: "x" }] });
    expect(now().graph.checked?.pins["loss:output"]).toEqual({ dtype: "float32", shape: [] });
    expect(now().problems).toHaveLength(1);
  });
});

describe("after the connection was lost", () => {
  async function lose(): Promise<void> {
    await open();
    setTitle("new");
    sockets.at(-1)?.close();
    vi.advanceTimersByTime(1000);
    expect(sockets).toHaveLength(2);
  }

  test("pages are opened again, and changes that had not arrived are sent again", async () => {
    await lose();
    studio.watch(1, { pins: ["loss:output"], axes: { "loss:output": [1, 2] } });
    live(1).viewport = { x: 8, y: 16, zoom: 0.5 };
    studio.commit(1, [{ path: ["about"], value: "while away" }], { kind: "title" });
    connect("b");
    const [command] = sent("open");
    expect(command).toMatchObject({ path: "line.page.json", pending: [1, 2] });
    say({
      kind: "opened",
      request: command?.request ?? 0,
      page: 9,
      document: linePage,
      revision: 1,
      path: "line.page.json",
    });
    expect(useStudio.getState()).toMatchObject({ tabs: [9], active: 9 });
    expect(now(9).document).toMatchObject({ title: "new", about: "while away" });
    expect(sent("change").map(({ page, number }: Change) => [page, number])).toEqual([
      [9, 1],
      [9, 2],
    ]);
    expect(sent("subscribe")).toEqual([
      { kind: "subscribe", page: 9, pins: ["loss:output"], axes: { "loss:output": [1, 2] } },
    ]);
    expect(live(9).viewport).toEqual({ x: 8, y: 16, zoom: 0.5 });
    studio.undo(9);
    studio.undo(9);
    expect(now(9).document).toEqual(linePage);
  });

  test("changes that had arrived are not sent again", async () => {
    await lose();
    studio.commit(1, [{ path: ["about"], value: "while away" }], { kind: "title" });
    const client = now().synced.client;
    connect("b");
    const [command] = sent("open");
    expect(command?.client).toBe(client);
    const document = { ...linePage, title: "new" };
    const request = command?.request ?? 0;
    say({ kind: "opened", request, page: 9, document, revision: 1, applied: [1] });
    expect(sent("change").map((each) => [each.client, each.number])).toEqual([[client, 2]]);
    expect(now(9).document).toEqual({ ...linePage, title: "new", about: "while away" });
  });

  test("a page that is opened once more is another client's, so its numbers begin again", async () => {
    const { client } = (await open()).synced;
    setTitle("new");
    studio.close(1);
    expect((await open()).synced.client).not.toBe(client);
    setTitle("again");
    expect(sent("change").map(({ number }) => number)).toEqual([1, 1]);
  });

  test("a page that was closed meanwhile stays closed", async () => {
    await lose();
    connect("b");
    studio.close(studio.state.active ?? 0);
    say({
      kind: "opened",
      request: sent("open")[0]?.request ?? 0,
      page: 5,
      document: linePage,
      revision: 1,
    });
    expect(useStudio.getState().tabs).toEqual([]);
    expect(sent("close").at(-1)?.page).toBe(5);
  });

  test("pages that get each other's numbers stay apart", async () => {
    await open(linePage, 1, "a.page.json");
    await open({ format: 1, blocks: {} }, 2, "b.page.json");
    studio.moveTabTo(2, 0);
    sockets.at(-1)?.close();
    vi.advanceTimersByTime(1000);
    connect("b");
    const [first, second] = sent("open");
    expect([first?.path, second?.path]).toEqual(["b.page.json", "a.page.json"]);
    studio.commit(studio.state.active ?? 0, [{ path: ["title"], value: "meanwhile" }], { kind: "title" });
    expect(sent("change")).toEqual([]);
    say({
      kind: "opened",
      request: first?.request ?? 0,
      page: 1,
      document: { format: 1, blocks: {} },
      revision: 1,
      path: "b.page.json",
    });
    say({
      kind: "opened",
      request: second?.request ?? 0,
      page: 2,
      document: linePage,
      revision: 1,
      path: "a.page.json",
    });
    expect(useStudio.getState()).toMatchObject({ tabs: [1, 2], active: 1 });
    expect(now(1).document).toEqual({ format: 1, blocks: {}, title: "meanwhile" });
    expect(now(2).document).toEqual(linePage);
    expect(sent("change").map(({ page }) => page)).toEqual([1]);
  });

  test("a page that the server no longer knows goes into a new one, whole", async () => {
    await lose();
    connect("b");
    say({ kind: "refused", text: "There is no such page.", request: sent("open")[0]?.request ?? 0 });
    const again = sent("open")[1];
    expect(again).toEqual({ kind: "open", request: again?.request });
    say({
      kind: "opened",
      request: again?.request ?? 0,
      page: 4,
      document: { format: 1, blocks: {} },
      revision: 0,
      unsaved: "u1",
    });
    expect(now(4).document).toEqual({ ...linePage, title: "new" });
    const [change] = sent("change");
    expect(apply({ format: 1, blocks: {} }, (change?.edits ?? []) as Edit[]).document).toEqual({
      ...linePage,
      title: "new",
    });
    studio.undo(4);
    expect(now(4).document).toEqual(linePage);
  });

  test("who waits for an answer is told", async () => {
    await open();
    const waiting = studio.requests.exportScript(1, "python");
    sockets.at(-1)?.close();
    await expect(waiting).rejects.toThrow("connection");
  });
});

describe("tabs", () => {
  test("the neighbour is shown when a page is closed", async () => {
    await open(linePage, 1, "a.page.json");
    await open(linePage, 2, "b.page.json");
    await open(linePage, 3, "c.page.json");
    studio.activate(2);
    studio.close(2);
    expect(useStudio.getState()).toMatchObject({ tabs: [1, 3], active: 3 });
    studio.close(3);
    studio.close(1);
    expect(useStudio.getState()).toMatchObject({ tabs: [], active: null });
    expect(sent("close").map(({ page }) => page)).toEqual([2, 3, 1]);
  });

  test("a page that is open already is shown once", async () => {
    await open();
    setTitle("new");
    await open();
    expect(useStudio.getState().tabs).toEqual([1]);
    expect(now().document.title).toBe("new");
    expect(sent("change")).toHaveLength(1);
  });

  test("can be put in another order", async () => {
    await open(linePage, 1, "a.page.json");
    await open(linePage, 2, "b.page.json");
    studio.moveTabTo(2, 0);
    expect(useStudio.getState().tabs).toEqual([2, 1]);
  });
});

describe("running", () => {
  function ran(seconds: number): void {
    studio.run(1);
    say({
      kind: "summaries",
      page: 1,
      revision: 3,
      step: 1,
      pins: { "loss:output": { dtype: "float32", shape: [], text: "1" } },
    });
    say({ kind: "run state", page: 1, state: "idle", seconds });
  }

  test("a change runs a quick page again once it has been checked", async () => {
    await open();
    ran(0.01);
    studio.commit(1, [{ path: ["blocks", "x", "attrs", "value"], value: 1 }], { kind: "set" });
    expect(live(1).isStale("loss:output")).toBe(true);
    expect(sent("run")).toHaveLength(1);
    say({ ...linePageChecked, revision: 4 });
    expect(sent("run")).toHaveLength(2);
  });

  test("a monitor that is added to a quick page that ran shows at once what there is", async () => {
    await open();
    ran(0.01);
    const value = { kind: "number", shows: [{ pin: "loss:output" }] };
    studio.commit(1, [{ path: ["monitors", "more"], value }], { kind: "add monitor" });
    say({ ...linePageChecked, revision: 4 });
    expect(sent("run")).toHaveLength(2);
    say({ kind: "run state", page: 1, state: "idle", seconds: 0.01 });
    say({ ...linePageChecked, revision: 4 });
    expect(sent("run")).toHaveLength(2);
  });

  test.each<[string, () => void]>([
    ["that was slow", () => ran(2)],
    [
      "that does not want it",
      () => {
        ran(0.01);
        studio.settings = () => ({ language: "en", rerun: false });
      },
    ],
    [
      "that runs",
      () => {
        ran(0.01);
        say({ kind: "run state", page: 1, state: "running", seconds: 0.01 });
      },
    ],
  ])("a page %s is not run again", async (_, prepare) => {
    await open();
    prepare();
    studio.commit(1, [{ path: ["blocks", "x", "attrs", "value"], value: 1 }], { kind: "set" });
    say({ ...linePageChecked, revision: 4 });
    expect(sent("run")).toHaveLength(1);
  });

  test("a change of another tab runs nothing here: that tab runs it", async () => {
    await open();
    ran(0.01);
    const edits = [{ path: ["blocks", "x", "attrs", "value"], value: 1 }];
    say({ kind: "changed", page: 1, revision: 4, edits, label: "set" });
    expect(live(1).isStale("loss:output")).toBe(true);
    say({ ...linePageChecked, revision: 4 });
    expect(sent("run")).toHaveLength(1);
  });

  test("why a process ended is said in the user's language", async () => {
    await open();
    studio.settings = () => ({ language: "ko", rerun: true });
    const problem = { text: "Its process crashed (SIGSEGV).", block: "guess", reason: "crashed" as const };
    say({ kind: "run state", page: 1, state: "idle", problem: { ...problem, detail: "SIGSEGV" } });
    expect(now().problems[0]).toMatchObject({
      block: "guess",
      text: expect.stringMatching(/[가-힣].*SIGSEGV/),
    });
  });

  test("what ended a run at no block is said once", async () => {
    await open();
    const notices = () => useStudio.getState().notices.filter(({ kind }) => kind === "error");
    const before = notices().length;
    const problem = { text: "", hint: "", block: "", reason: "killed" as const };
    for (let i = 0; i < 2; i++) say({ kind: "run state", page: 1, state: "idle", problem });
    expect(notices().slice(before)).toHaveLength(1);
    expect(notices().at(-1)?.text).toContain("memory");
    say({ kind: "run state", page: 1, state: "idle", problem: { ...problem, block: "guess" } });
    expect(notices().slice(before)).toHaveLength(1);
  });

  test("what ended a run stands at its block until something it depends on is changed", async () => {
    await open();
    say(linePageChecked);
    const problem = { text: "must be finite; got NaN.", block: "guess", arg: "x" };
    say({ kind: "run state", page: 1, state: "idle", problem });
    expect(studio.page(1)?.problems).toEqual([problem]);
    expect(studio.page(1)?.graph.problems.get("guess")).toEqual([problem]);
    studio.commit(1, [{ path: ["layout", "blocks", "x"], value: [8, 8] }], { kind: "move" });
    expect(studio.page(1)?.problems).toEqual([problem]);
    studio.commit(1, [{ path: ["blocks", "x", "attrs", "value"], value: 1 }], { kind: "set" });
    expect(studio.page(1)?.problems).toEqual([]);
    expect(studio.page(1)?.graph.problems.size).toBe(0);
  });

  test("moving a block makes nothing stale", async () => {
    await open();
    ran(0.01);
    studio.commit(1, [{ path: ["layout", "blocks", "x"], value: [8, 8] }], { kind: "move" });
    expect(live(1).isStale("loss:output")).toBe(false);
    say({ ...linePageChecked, revision: 4 });
    expect(sent("run")).toHaveLength(1);
  });

  test("a run with files waits for a yes, and is then the same run", async () => {
    await open();
    studio.run(1, { mode: "steps", steps: 5 });
    studio.allowFiles(1);
    expect(sent("run").at(-1)).toEqual({ kind: "run", page: 1, mode: "steps", steps: 5, allow_files: true });
  });
});

test("what is asked for is answered by its number", async () => {
  await open();
  const text = studio.requests.exportScript(1, "python");
  say({ kind: "exported", request: sent("export")[0]?.request ?? 0, text: "import backblocks" });
  expect(await text).toBe("import backblocks");
  const refused = studio.requests.elementTexts(1, "x:output", 0, 10);
  say({ kind: "refused", text: "It has not run yet.", request: sent("read elements")[0]?.request ?? 0 });
  await expect(refused).rejects.toThrow("not run yet");
});

test("a large value is measured twice: early from a part of it, then exactly", async () => {
  await open();
  const early = vi.fn();
  const measuring = studio.requests.statistics(1, "a:output", {}, { onEstimate: early });
  const request = sent("compute statistics").at(-1)?.request ?? 0;
  const measured = {
    kind: "statistics" as const,
    request,
    pin: "a:output",
    dtype: "float32",
    shape: [3],
    step: 1,
  };
  say({ ...measured, high: 2, sampled: true });
  say({ ...measured, high: 3 });
  expect(early).toHaveBeenCalledWith(expect.objectContaining({ high: 2 }));
  await expect(measuring).resolves.toMatchObject({ high: 3 });
});

test("a question that takes long says how far it is, and can be cancelled", async () => {
  await open();
  const progress = vi.fn();
  const leaving = new AbortController();
  const finding = studio.requests.findNonFinite(1, "a:output", null, {
    onProgress: progress,
    signal: leaving.signal,
  });
  const request = sent("find non-finite").at(-1)?.request ?? 0;
  say({ kind: "progress", request, part: 0.5 });
  expect(progress).toHaveBeenCalledWith(0.5);
  leaving.abort();
  expect(sent("cancel")).toEqual([{ kind: "cancel", page: 1, request }]);
  say({ kind: "refused", text: "The request was cancelled.", request });
  await expect(finding).rejects.toThrow("cancelled");
});
