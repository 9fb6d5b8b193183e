import { beforeEach, describe, expect, test } from "vitest";
import { blockRects } from "../model/geometry.ts";
import { graphOf } from "../model/graph.ts";
import { NO_RUNS, NO_RUNS_VIEW } from "../model/runs.ts";
import * as sync from "../net/sync.ts";
import { linePage, ops } from "../testing/fixtures.ts";
import { en } from "../text/en.ts";
import { type CommandId, commands, executeCommand, isEnabled, registerHandler } from "./commands.ts";
import { chordText, commandFor, type KeyPress, keyChord } from "./keybindings.ts";
import { type PageState, studio, useStudio } from "./store.ts";

function pressed(key: string, ...held: ("ctrl" | "meta" | "alt" | "shift")[]): KeyPress {
  const has = (each: "ctrl" | "meta" | "alt" | "shift"): boolean => held.includes(each);
  const code = /^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : "";
  return {
    key,
    code,
    ctrlKey: has("ctrl"),
    metaKey: has("meta"),
    altKey: has("alt"),
    shiftKey: has("shift"),
  };
}

describe("keys", () => {
  test.each<[KeyPress, CommandId | undefined]>([
    [pressed("z", "ctrl"), "undo"],
    [pressed("Z", "ctrl", "shift"), "redo"],
    [pressed("/"), "search"],
    [pressed("k", "ctrl"), "search"],
    [pressed("?", "shift"), "help"],
    [pressed("c"), "connect"],
    [pressed("C", "shift"), "select connected"],
    [pressed("c", "ctrl"), undefined],
    [pressed("Delete"), "remove"],
    [pressed("Backspace", "ctrl"), "heal"],
    [pressed("ArrowLeft", "shift"), "select upstream"],
    [pressed("q"), "fix"],
    [pressed("j"), undefined],
  ])("%j is %s", (event, id) => expect(commandFor(event, null, false)).toBe(id));

  test("on a Mac it is the command key", () => {
    expect(commandFor(pressed("z", "meta"), null, true)).toBe("undo");
    expect(commandFor(pressed("z", "ctrl"), null, true)).toBeUndefined();
    expect(chordText("Mod+Shift+Z", true)).toBe("⌘⇧Z");
    expect(chordText("Mod+Shift+Z", false)).toBe("Ctrl+Shift+Z");
    expect(chordText("+", false)).toBe("+");
  });

  test("letters of another keyboard are told by their place", () => {
    expect(keyChord({ ...pressed("ㅊ"), code: "KeyC" }, false)).toBe("C");
    expect(keyChord({ ...pressed("å", "alt"), code: "KeyA" }, true)).toBe("Alt+A");
    expect(keyChord({ ...pressed("A"), code: "KeyQ" }, false)).toBe("A");
  });

  test("while text is typed, only those work that do not type", () => {
    const field = { undo: false, redo: false };
    expect(commandFor(pressed("c"), field, false)).toBeUndefined();
    expect(commandFor(pressed("s", "ctrl"), field, false)).toBe("save");
    expect(commandFor(pressed("F6"), field, false)).toBe("run");
  });

  test("a text field undoes and redoes its own changes before those of the page", () => {
    const command = (undo: boolean, redo: boolean, ...keys: Parameters<typeof pressed>) =>
      commandFor(pressed(...keys), { undo, redo }, false);
    expect(command(false, false, "z", "ctrl")).toBe("undo");
    expect(command(true, false, "z", "ctrl")).toBeUndefined();
    expect(command(false, true, "z", "ctrl")).toBe("undo");
    expect(command(false, false, "y", "ctrl")).toBe("redo");
    expect(command(false, true, "y", "ctrl")).toBeUndefined();
    expect(command(true, false, "y", "ctrl")).toBeUndefined();
  });

  test("no keys stand for two commands", () => {
    const all = [...commands.values()].flatMap((command) => command.keys);
    expect(all.filter((keys, place) => all.indexOf(keys) !== place)).toEqual([]);
  });

  test("every command of the dictionary is in the table", () => {
    expect([...commands.keys()].sort()).toEqual(Object.keys(en.commands).sort());
  });
});

describe("a command", () => {
  beforeEach(() => {
    const graph = graphOf(linePage, ops);
    const synced = sync.newSyncState("one", linePage, 1);
    const page: PageState = {
      page: 1,
      path: "",
      unsaved: "",
      lesson: "",
      synced,
      document: linePage,
      graph,
      places: blockRects(graph),
      selection: new Set(),
      problems: [],
      run: { kind: "run state", page: 1, state: "idle" },
      runs: NO_RUNS,
      runsView: NO_RUNS_VIEW,
      saved: linePage,
      dirty: false,
      journaled: 1,
      draft: null,
      versions: null,
      saveRefused: null,
      saveTarget: "",
    };
    useStudio.setState({ pages: { 1: page }, tabs: [1], active: 1, ops });
  });

  function selected(): string[] {
    return [...(studio.page()?.selection ?? [])];
  }

  test("works only when it can", () => {
    expect(isEnabled("remove")).toBe(false);
    expect(executeCommand("remove")).toBe(false);
    studio.select(1, ["block/x"]);
    expect(executeCommand("remove")).toBe(true);
    expect(studio.page()?.document.blocks).not.toHaveProperty("x");
    expect(isEnabled("undo")).toBe(true);
    executeCommand("undo");
    expect(studio.page()?.document).toEqual(linePage);
  });

  test("of the view works when the view provides it, also without a page", () => {
    expect(isEnabled("gallery")).toBe(false);
    let done = 0;
    const stop = registerHandler("gallery", () => done++);
    useStudio.setState({ pages: {}, tabs: [], active: null });
    expect(executeCommand("gallery")).toBe(true);
    expect(done).toBe(1);
    stop();
    expect(executeCommand("gallery")).toBe(false);
  });

  test("selects what is needed and everything", () => {
    studio.select(1, ["block/product"]);
    executeCommand("select upstream");
    expect(selected().sort()).toEqual(["block/product", "block/w", "block/x"]);
    executeCommand("select all");
    expect(selected()).toHaveLength(14);
    executeCommand("select none");
    expect(selected()).toEqual([]);
  });

  test("selects the wires at a block one after the other", () => {
    studio.select(1, ["block/product"]);
    const found = [0, 1, 2].map(() => {
      executeCommand("select wire");
      return selected()[0];
    });
    expect(found).toEqual(["wire/product:a", "wire/product:b", "wire/guess:x"]);
  });

  test("makes constants blocks in one step, and runs a block every time", () => {
    studio.commit(1, [{ path: ["blocks", "sum"], value: { op: "AddV2", in: { x: 1, y: 2 } } }], {
      kind: "add block",
    });
    studio.select(1, ["block/sum"]);
    executeCommand("constants");
    expect(studio.page()?.document.blocks?.sum?.in).toEqual({ x: "sum_x:output", y: "sum_y:output" });
    expect(isEnabled("constants")).toBe(false);
    executeCommand("undo");
    expect(studio.page()?.document.blocks?.sum?.in).toEqual({ x: 1, y: 2 });
    const before = studio.page()?.document.run?.targets ?? [];
    executeCommand("target");
    expect(studio.page()?.document.run?.targets).toEqual([...before, "sum"]);
    executeCommand("target");
    expect(studio.page()?.document.run?.targets ?? []).toEqual(before);
  });

  test("adds gradients of what is selected, and selects them", () => {
    studio.commit(1, [{ path: ["blocks", "r"], value: { op: "Relu", in: { features: "x:output" } } }], {
      kind: "add block",
    });
    studio.select(1, ["block/r"]);
    expect(executeCommand("gradient")).toBe(true);
    expect(studio.page()?.document.blocks?.d_r).toEqual({
      op: "ReluGrad",
      in: { gradients: "ones_r:y", features: "x:output" },
    });
    expect(selected()).toEqual(["block/d_r"]);
    executeCommand("undo");
    expect(studio.page()?.document.blocks).not.toHaveProperty("ones_r");
  });

  test("heals, duplicates, frames and disconnects", () => {
    studio.select(1, ["block/guess"]);
    executeCommand("heal");
    expect(studio.page()?.document.blocks?.error?.in).toEqual({ x: "product:product", y: "y:output" });
    studio.select(1, ["block/error"]);
    executeCommand("duplicate");
    expect(selected()).toEqual(["block/error_2"]);
    executeCommand("frame");
    expect(studio.page()?.document.frames?.frame?.blocks).toEqual(["error_2"]);
    studio.select(1, ["block/error_2"]);
    executeCommand("disconnect");
    expect(studio.page()?.document.blocks?.error_2).toEqual({ op: "SquaredDifference" });
  });
});
