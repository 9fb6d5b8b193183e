/**
 * The command table: keybindings, when a command is enabled, and what it does. Menus, the command palette, help and the
 * keyboard read it; the dictionaries have the names. Commands that need the view have a handler registered by it.
 */

import * as actions from "../model/actions.ts";
import { mainRun } from "../model/runs.ts";
import type { CoreStrings } from "../text/index.ts";
import { layoutPage } from "./auto-layout.ts";
import { copySelection, pasteText } from "./clipboard.ts";
import {
  addSelectedGradients,
  allItems,
  availableFixes,
  constantsToBlocks,
  dispatchAdd,
  firstConstant,
  hasBlocks,
  hasConstants,
  hasMultiple,
  hasSelection,
  removeSelection,
  selectedBlocks,
  selectedOutput,
  selectedRects,
  selectionHas,
  selectReach,
  selectWire,
} from "./selection.ts";
import { type PageState, studio } from "./store.ts";

export type CommandId = keyof CoreStrings["commands"];
export type CommandGroup = "edit" | "select" | "arrange" | "run" | "page" | "view";

export interface Command {
  readonly id: CommandId;
  readonly group: CommandGroup;
  /** As in "Mod+Shift+Z"; Mod is Ctrl, or Cmd on a Mac. The first is shown. */
  readonly keys: readonly string[];
  /** Whether its keys also work in text fields. */
  readonly whileTyping?: boolean;
  /** Whether the browser has an event for it (copy, cut, paste), which the view handles instead of keys. */
  readonly native?: boolean;
  readonly when?: (page: PageState) => boolean;
  /** Undefined if the view registers a handler. */
  readonly run?: (page: PageState) => void;
}

const running = ({ run }: PageState): boolean => run.state !== "idle";

function align(edge: actions.Edge): Pick<Command, "when" | "run"> {
  return {
    when: hasMultiple,
    run: (page) => studio.dispatch(page.page, actions.align(page.document, selectedRects(page), edge)),
  };
}

function distribute(axis: "x" | "y"): Pick<Command, "when" | "run"> {
  return {
    when: hasMultiple,
    run: (page) => studio.dispatch(page.page, actions.distribute(page.document, selectedRects(page), axis)),
  };
}

function switchTab(by: 1 | -1): (page: PageState) => void {
  return ({ page }) => {
    const { tabs } = studio.state;
    studio.activate(tabs[(tabs.indexOf(page) + by + tabs.length) % tabs.length] as number);
  };
}

const COMMANDS: readonly Command[] = [
  { id: "search", group: "edit", keys: ["/", "Mod+K"] },
  { id: "palette", group: "view", keys: ["Mod+Shift+P", "F1"], whileTyping: true },
  { id: "find", group: "view", keys: ["Mod+F"] },
  {
    id: "undo",
    group: "edit",
    keys: ["Mod+Z"],
    when: ({ synced }) => synced.history.undo.length > 0,
    run: ({ page }) => studio.undo(page),
  },
  {
    id: "redo",
    group: "edit",
    keys: ["Mod+Shift+Z", "Mod+Y"],
    when: ({ synced }) => synced.history.redo.length > 0,
    run: ({ page }) => studio.redo(page),
  },
  {
    id: "cut",
    group: "edit",
    keys: ["Mod+X"],
    native: true,
    when: hasSelection,
    run: (page) => {
      void navigator.clipboard.writeText(copySelection(page));
      removeSelection(page, false);
    },
  },
  {
    id: "copy",
    group: "edit",
    keys: ["Mod+C"],
    native: true,
    when: hasSelection,
    run: (page) => void navigator.clipboard.writeText(copySelection(page)),
  },
  {
    id: "paste",
    group: "edit",
    keys: ["Mod+V"],
    native: true,
  },
  {
    id: "paste with wires",
    group: "edit",
    keys: ["Mod+Shift+V"],
    run: async (page) => pasteText(page.page, await navigator.clipboard.readText(), { keepWires: true }),
  },
  {
    id: "duplicate",
    group: "edit",
    keys: ["Mod+D"],
    when: selectionHas("block", "frame", "note", "monitor"),
    run: (page) => dispatchAdd(page, actions.duplicate(page.document, page.selection, page.places)),
  },
  {
    id: "remove",
    group: "edit",
    keys: ["Delete", "Backspace"],
    when: hasSelection,
    run: (page) => removeSelection(page, false),
  },
  {
    id: "heal",
    group: "edit",
    keys: ["Mod+Delete", "Mod+Backspace"],
    when: hasBlocks,
    run: (page) => removeSelection(page, true),
  },
  { id: "rename", group: "edit", keys: ["F2"], when: selectionHas("block", "frame") },
  { id: "replace", group: "edit", keys: ["R"], when: (page) => selectedBlocks(page).length === 1 },
  { id: "constants", group: "edit", keys: ["K"], when: hasConstants, run: constantsToBlocks },
  {
    id: "edit constant",
    group: "edit",
    keys: ["V"],
    when: (page) => firstConstant(page) !== undefined,
  },
  {
    id: "select all",
    group: "select",
    keys: ["Mod+A"],
    run: (page) => studio.select(page.page, allItems(page)),
  },
  {
    id: "select none",
    group: "select",
    keys: ["Escape"],
    when: hasSelection,
    run: ({ page }) => studio.select(page, []),
  },
  {
    id: "select upstream",
    group: "select",
    keys: ["Shift+ArrowLeft"],
    when: hasBlocks,
    run: selectReach("upstream"),
  },
  {
    id: "select downstream",
    group: "select",
    keys: ["Shift+ArrowRight"],
    when: hasBlocks,
    run: selectReach("downstream"),
  },
  {
    id: "select connected",
    group: "select",
    keys: ["Shift+C"],
    when: hasBlocks,
    run: selectReach("connected"),
  },
  { id: "select wire", group: "select", keys: ["W"], when: selectionHas("block", "wire"), run: selectWire },
  { id: "connect", group: "edit", keys: ["C"], when: hasBlocks },
  {
    id: "disconnect",
    group: "edit",
    keys: ["X"],
    when: selectionHas("block", "wire"),
    run: ({ page, selection, graph, document }) => {
      const wires = [
        ...actions.namesOf(selection, "wire").flatMap((id) => graph.byId.get(id) ?? []),
        ...actions
          .namesOf(selection, "block")
          .flatMap((name) => [...(graph.into.get(name) ?? []), ...(graph.outOf.get(name) ?? [])]),
      ];
      studio.dispatch(page, actions.disconnect(document, new Set(wires)));
    },
  },
  { id: "fix", group: "edit", keys: ["Q"], when: (page) => availableFixes(page).length > 0 },
  {
    id: "gradient",
    group: "edit",
    keys: ["G"],
    when: (page) =>
      selectedBlocks(page).some((name) => !!page.graph.blocks.get(name)?.info?.gradients.length),
    run: addSelectedGradients,
  },
  { id: "gradients", group: "edit", keys: ["Shift+G"], when: hasBlocks },
  { id: "explain", group: "view", keys: ["E"], when: hasBlocks },
  {
    id: "frame",
    group: "edit",
    keys: ["F"],
    when: hasBlocks,
    run: (page) => dispatchAdd(page, actions.addFrame(page.document, selectedBlocks(page), page.places, "")),
  },
  { id: "note", group: "edit", keys: ["N"] },
  { id: "monitor", group: "edit", keys: ["M"] },
  { id: "import files", group: "edit", keys: ["Mod+I"] },
  { id: "import folder", group: "edit", keys: [] },
  { id: "use page", group: "page", keys: [] },
  { id: "extract", group: "page", keys: [], when: hasBlocks },
  {
    id: "port",
    group: "page",
    keys: ["P"],
    when: (page) => selectedOutput(page) !== undefined,
    run: (page) => {
      const pin = selectedOutput(page);
      if (pin) studio.dispatch(page.page, actions.togglePort(page.graph, pin.ref));
    },
  },
  {
    id: "tidy",
    group: "arrange",
    keys: ["Shift+T"],
    when: ({ graph }) => graph.blocks.size > 0,
    run: (page) => {
      const some = hasMultiple(page);
      void layoutPage(page.page, some ? new Set(selectedBlocks(page)) : undefined).then(() => {
        if (studio.page()?.page === page.page) executeCommand(some ? "zoom selection" : "zoom all");
      });
    },
  },
  { id: "align left", group: "arrange", keys: ["Alt+A"], ...align("left") },
  { id: "align center", group: "arrange", keys: ["Alt+H"], ...align("center") },
  { id: "align right", group: "arrange", keys: ["Alt+D"], ...align("right") },
  { id: "align top", group: "arrange", keys: ["Alt+W"], ...align("top") },
  { id: "align middle", group: "arrange", keys: ["Alt+V"], ...align("middle") },
  { id: "align bottom", group: "arrange", keys: ["Alt+S"], ...align("bottom") },
  { id: "distribute across", group: "arrange", keys: ["Alt+Shift+H"], ...distribute("x") },
  { id: "distribute down", group: "arrange", keys: ["Alt+Shift+V"], ...distribute("y") },
  {
    id: "run",
    group: "run",
    keys: ["Mod+Enter", "F5", "F6"],
    whileTyping: true,
    run: ({ page, document }) => studio.run(page, mainRun(document)),
  },
  {
    id: "run here",
    group: "run",
    keys: ["Mod+Shift+Enter"],
    whileTyping: true,
    when: hasBlocks,
    run: (page) => studio.run(page.page, { to: selectedBlocks(page) }),
  },
  {
    id: "run freely",
    group: "run",
    keys: ["F7"],
    whileTyping: true,
    run: ({ page }) => studio.run(page, { mode: "free" }),
  },
  {
    id: "pause",
    group: "run",
    keys: ["F8"],
    whileTyping: true,
    when: running,
    run: ({ page, run }) => studio.control(page, run.state === "paused" ? "go on" : "pause"),
  },
  {
    id: "step",
    group: "run",
    keys: ["F10"],
    whileTyping: true,
    run: ({ page }) => studio.control(page, "step"),
  },
  {
    id: "stop",
    group: "run",
    keys: ["Shift+F5", "Mod+."],
    whileTyping: true,
    when: running,
    run: ({ page }) => studio.control(page, "stop"),
  },
  { id: "reset", group: "run", keys: ["Shift+F8"], whileTyping: true },
  {
    id: "snapshot",
    group: "run",
    keys: ["Shift+S"],
    when: ({ runs }) => runs.records.length > 0,
    run: ({ page }) => studio.changeSnapshot(page, "keep"),
  },
  {
    id: "next problem",
    group: "run",
    keys: ["F4"],
    whileTyping: true,
    when: ({ problems }) => problems.length > 0,
  },
  {
    id: "target",
    group: "run",
    keys: ["Shift+R"],
    when: (page) => selectedBlocks(page).length === 1,
    run: (page) => {
      const [block] = selectedBlocks(page);
      if (block !== undefined) studio.dispatch(page.page, actions.toggleTarget(page.document, block));
    },
  },
  { id: "new", group: "page", keys: ["Alt+N"] },
  { id: "open", group: "page", keys: ["Mod+O"], whileTyping: true },
  { id: "save", group: "page", keys: ["Mod+S"], whileTyping: true },
  { id: "save as", group: "page", keys: ["Mod+Shift+S"], whileTyping: true },
  { id: "revert", group: "page", keys: [], when: ({ dirty }) => dirty },
  { id: "versions", group: "page", keys: [] },
  { id: "close", group: "page", keys: ["Alt+X"] },
  { id: "reopen", group: "page", keys: ["Alt+Shift+X"] },
  { id: "next page", group: "page", keys: ["Alt+PageDown"], whileTyping: true, run: switchTab(1) },
  { id: "last page", group: "page", keys: ["Alt+PageUp"], whileTyping: true, run: switchTab(-1) },
  { id: "gallery", group: "page", keys: ["Alt+G"] },
  { id: "export", group: "page", keys: ["Mod+E"] },
  { id: "zoom in", group: "view", keys: ["+", "="] },
  { id: "zoom out", group: "view", keys: ["-"] },
  { id: "zoom all", group: "view", keys: ["1", "Home"] },
  { id: "zoom selection", group: "view", keys: ["2"], when: hasSelection },
  { id: "zoom one", group: "view", keys: ["0"] },
  { id: "outline", group: "view", keys: ["Alt+1"], whileTyping: true },
  { id: "properties", group: "view", keys: ["Alt+2"], whileTyping: true },
  { id: "docs", group: "view", keys: ["Alt+3"], whileTyping: true },
  { id: "problems", group: "view", keys: ["Alt+4"], whileTyping: true },
  { id: "inspector", group: "view", keys: ["Alt+5"], whileTyping: true },
  { id: "monitors", group: "view", keys: ["Alt+6"], whileTyping: true },
  { id: "console", group: "view", keys: ["Alt+7"], whileTyping: true },
  { id: "runs", group: "view", keys: ["Alt+8"], whileTyping: true },
  { id: "spotlight", group: "view", keys: ["S"] },
  { id: "minimap", group: "view", keys: ["Shift+M"] },
  { id: "help", group: "view", keys: ["?"] },
  { id: "settings", group: "view", keys: ["Mod+,"], whileTyping: true },
];

/** Commands that are enabled without a page. */
const WITHOUT_PAGE: ReadonlySet<CommandId> = new Set([
  "palette",
  "new",
  "open",
  "gallery",
  "reopen",
  "help",
  "settings",
]);

export const commands: ReadonlyMap<CommandId, Command> = new Map(COMMANDS.map((each) => [each.id, each]));

const handlers = new Map<CommandId, () => void>();

/** Registers the handler of a command; returns the function that unregisters it. */
export function registerHandler(id: CommandId, run: () => void): () => void {
  handlers.set(id, run);
  return () => {
    if (handlers.get(id) === run) handlers.delete(id);
  };
}

export function isEnabled(id: CommandId): boolean {
  const command = commands.get(id);
  if (!command || !(command.run || handlers.has(id))) return false;
  const page = studio.page();
  if (!page) return WITHOUT_PAGE.has(id);
  return command.when?.(page) ?? true;
}

/** Executes a command; false if it is disabled. */
export function executeCommand(id: CommandId): boolean {
  if (!isEnabled(id)) return false;
  const page = studio.page();
  const own = handlers.get(id);
  if (own) own();
  else if (page) commands.get(id)?.run?.(page);
  return true;
}
