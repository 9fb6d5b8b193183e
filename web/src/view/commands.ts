/** Handlers of the commands that need the view. `state/commands.ts` has all others. */

import * as actions from "../model/actions.ts";
import { keyOf } from "../model/graph.ts";
import { PAGE } from "../model/ops.ts";
import { type CommandId, registerHandler } from "../state/commands.ts";
import { addSelectedGradients, availableFixes, firstConstant } from "../state/selection.ts";
import { type PageState, studio } from "../state/store.ts";
import { currentPage, dispatch } from "./active-page.ts";
import { canvasRef } from "./canvas-ref.ts";
import { pasteData, pickData } from "./dropped.ts";
import { applyFix, fixText } from "./fixing.ts";
import { type Settings, updateSettings, useSettings } from "./settings.ts";
import { strings } from "./strings.ts";
import { ui } from "./ui.ts";

const blocksOf = (page: PageState) => actions.namesOf(page.selection, "block");

function showPanel(
  side: "left" | "right" | "bottom",
  tab: Settings["leftTab" | "rightTab" | "bottomTab"],
): void {
  updateSettings({ [`${side}Open`]: true, [`${side}Tab`]: tab });
  requestAnimationFrame(() => document.getElementById(`tab-${tab}`)?.focus());
}

function toggle(setting: "spotlight" | "minimap"): void {
  updateSettings({ [setting]: !useSettings.getState()[setting] });
}

const GLOBAL_HANDLERS: Partial<Record<CommandId, () => void>> = {
  palette: () => ui.openSearch({ mode: "commands" }),
  new: () => void ui.openPage({}),
  open: () => {
    studio.listFiles();
    ui.openDialog({ kind: "open" });
  },
  gallery: () => ui.showGallery(true),
  reopen: () => void studio.reopenClosed().then(() => ui.showGallery(false)),
  help: () => ui.openDialog({ kind: "help" }),
  settings: () => ui.openDialog({ kind: "settings" }),
  outline: () => showPanel("left", "outline"),
  properties: () => showPanel("right", "properties"),
  docs: () => showPanel("right", "docs"),
  problems: () => showPanel("bottom", "problems"),
  inspector: () => showPanel(useSettings.getState().inspectorDock, "inspector"),
  monitors: () => showPanel("bottom", "monitors"),
  console: () => showPanel("bottom", "console"),
  runs: () => showPanel("bottom", "runs"),
  spotlight: () => toggle("spotlight"),
  minimap: () => toggle("minimap"),
  search: () => ui.openSearch(),
  find: () => ui.openSearch({ mode: "page" }),
  "import files": () => pickData(false),
  "import folder": () => pickData(true),
  paste: async () => pasteData(await navigator.clipboard.readText()),
  "use page": () => {
    studio.listFiles();
    ui.openDialog({ kind: "use page" });
  },
  extract: () => {
    studio.listFiles();
    ui.openDialog({ kind: "extract" });
  },
  "save as": () => ui.openDialog({ kind: "save as" }),
  export: () => ui.openDialog({ kind: "export" }),
  "zoom in": () => canvasRef.current?.zoom(1.25),
  "zoom out": () => canvasRef.current?.zoom(0.8),
  "zoom all": () => canvasRef.current?.fit(),
  "zoom one": () => canvasRef.current?.zoom("one"),
};

const PAGE_HANDLERS: Partial<Record<CommandId, (page: PageState) => void>> = {
  rename: (page) => {
    const [name] = blocksOf(page);
    if (name !== undefined) ui.openField(name, "name");
    else showPanel("right", "properties");
  },
  replace: (page) => {
    const [name] = blocksOf(page);
    if (name !== undefined) ui.openSearch({ replace: name });
  },
  "edit constant": (page) => {
    const found = firstConstant(page);
    if (found) ui.openConstant(...found);
  },
  fix: (page) => {
    const found = availableFixes(page);
    const [first, more] = found;
    if (first === undefined) return;
    if (more === undefined) applyFix(first);
    else {
      const { left = 0, bottom = 0 } =
        document.getElementById(`block-${first.block}`)?.getBoundingClientRect() ?? {};
      const t = strings();
      ui.openMenu(
        t.fixes.choose,
        { x: left, y: bottom },
        found.map((each, i) => ({ id: String(i), label: fixText(each.fix, t), run: () => applyFix(each) })),
      );
    }
  },
  connect: (page) => {
    const [name] = blocksOf(page);
    if (name !== undefined) ui.openDialog({ kind: "connect", block: name, end: null });
  },
  gradient: (page) => {
    addSelectedGradients(page);
    const [first] = currentPage()?.selection ?? [];
    // The canvas has the item after the next frame.
    if (first !== undefined) requestAnimationFrame(() => canvasRef.current?.reveal(first));
  },
  gradients: (page) => {
    const ys = blocksOf(page).flatMap(
      (name) =>
        page.graph.blocks
          .get(name)
          ?.outputs.slice(0, 1)
          .map((pin) => pin.ref) ?? [],
    );
    ui.openDialog({ kind: "gradients", ys });
  },
  explain: (page) => {
    const [name] = blocksOf(page);
    if (name !== undefined) ui.openExplain(name);
  },
  note: (page) => {
    const at = canvasRef.current?.centre() ?? { x: 0, y: 0 };
    const rect = ui.findFreeRect({ x: at.x - 120, y: at.y - 60 }, { width: 240, height: 120 });
    dispatch(actions.addNote(page.document, strings().newNote, rect));
    const [name] = actions.namesOf(currentPage()?.selection ?? [], "note");
    if (name !== undefined) ui.setEditing(name);
  },
  monitor: (page) => {
    const [name] = blocksOf(page);
    const pin = name === undefined ? undefined : page.graph.blocks.get(name)?.outputs[0];
    if (pin) ui.addMonitor(keyOf(pin.ref));
    else studio.notice("info", strings().selectToMonitor);
  },
  save: (page) => {
    if (page.path === "") ui.openDialog({ kind: "save as" });
    else studio.save(page.page);
  },
  "next problem": (page) => {
    // The one after that of the selected block.
    const [selected] = blocksOf(page);
    const place = page.problems.findIndex(({ block }) => block && block === selected);
    const next = page.problems[(place + 1) % page.problems.length];
    if (next === undefined) return;
    ui.announce(next.text);
    if (next.block) ui.reveal(actions.item("block", next.block), next.arg || undefined);
    else showPanel("bottom", "problems");
  },
  revert: ({ page }) => studio.revert(page),
  versions: ({ page }) => {
    studio.listVersions(page);
    ui.openDialog({ kind: "versions" });
  },
  reset: ({ page, run, graph }) => {
    const t = strings();
    const reset = () => studio.control(page, "reset");
    const step = run.step ?? 0;
    const keeps = [...graph.blocks.values()].some(({ info, op }) => info?.holds || op === PAGE);
    if (step === 0 || !keeps) reset();
    else ui.confirm({ title: t.resetTitle, about: t.resetAbout(step), action: t.reset, onConfirm: reset });
  },
  // Closing loses nothing: unsaved changes stay in the draft.
  close: ({ page }) => studio.close(page),
  "zoom selection": (page) => canvasRef.current?.fit(page.selection),
};

/** Registers all handlers; returns the function that unregisters them. */
export function registerCommandHandlers(): () => void {
  const stops = [
    ...Object.entries(GLOBAL_HANDLERS).map(([id, run]) => registerHandler(id as CommandId, run)),
    ...Object.entries(PAGE_HANDLERS).map(([id, run]) =>
      registerHandler(id as CommandId, () => {
        const page = currentPage();
        if (page) run(page);
      }),
    ),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
