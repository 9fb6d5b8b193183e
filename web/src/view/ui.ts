/** Transient UI state: the open search, menu, dialog, popover, Explain. It is neither saved nor undoable. */

import { create } from "zustand";
import {
  addMonitor,
  type Item,
  insertOnWire,
  item,
  monitorsOnPage,
  namesOf,
  rectsOf,
} from "../model/actions.ts";
import type { InputRef, OutputRef, PageDocument } from "../model/document.ts";
import { addBlock, newBlock } from "../model/edit-blocks.ts";
import {
  BLOCK_WIDTH,
  blockHeight,
  COLUMN_GAP,
  freePosition,
  type Point,
  type Rect,
} from "../model/geometry.ts";
import { graphOf } from "../model/graph.ts";
import type { OpInfo } from "../model/ops.ts";
import { mainRun } from "../model/runs.ts";
import type { ImportedArray } from "../net/generated.ts";
import { type CommandId, executeCommand } from "../state/commands.ts";
import { studio } from "../state/store.ts";
import { currentPage, dispatch, select } from "./active-page.ts";
import type { WireEnd } from "./canvas/pointer-host.ts";
import { canvasRef } from "./canvas-ref.ts";
import type { ArraySource } from "./export/dropped-files.ts";
import { updateSettings } from "./settings.ts";
import type { MenuItem } from "./shell/Menu.tsx";

export type DialogKind =
  | { kind: "help" | "settings" | "about" | "versions" | "export" | "open" | "use page" }
  | { kind: "save as" | "extract" }
  | { kind: "connect"; block: string; end: WireEnd | null }
  | { kind: "gradients"; ys: OutputRef[] }
  | { kind: "import"; source: ArraySource; arrays: readonly ImportedArray[] }
  | ({ kind: "confirm" } & Confirmation);

/** A question before something that cannot be undone. */
export interface Confirmation {
  title: string;
  about: string;
  /** The label of the button that does it. */
  action: string;
  onConfirm(): void;
}

export interface SearchState {
  /** The position of the search box in window pixels; centred if null. */
  at: Point | null;
  /** The page position of a new block. */
  place: Point;
  end: WireEnd | null;
  /** The wire on which the block is inserted. */
  wire: string | null;
  /** The block whose op is replaced. */
  replace: string | null;
  mode: "blocks" | "commands" | "page";
}

interface UiState {
  search: SearchState | null;
  menu: { label: string; at: Point; items: MenuItem[] } | null;
  dialog: DialogKind | null;
  /** The op whose documentation is shown while no block is selected. */
  docs: string | null;
  /** The field of the properties panel to focus. */
  field: { block: string; name: string } | null;
  /** The constant, of an input or attribute, whose popover is open. */
  constant: { block: string; name: string } | null;
  /** The note that is being edited. */
  editing: string | null;
  /** The block that Explain shows. */
  explain: { page: number; block: string } | null;
  /** Whether the gallery is shown although pages are open. */
  gallery: boolean;
  /** The text of the ARIA live region. */
  announcement: string;
}

export const useUi = create<UiState>()(() => ({
  search: null,
  menu: null,
  dialog: null,
  docs: null,
  field: null,
  constant: null,
  editing: null,
  explain: null,
  gallery: false,
  announcement: "",
}));

export const ui = {
  announce(text: string): void {
    useUi.setState({ announcement: text });
  },
  select(items: Iterable<Item>): void {
    select(items);
  },
  run(command: CommandId): void {
    executeCommand(command);
  },
  /** Selects and reveals an item, and focuses one of its properties if it is given. */
  reveal(which: Item, field?: string): void {
    select([which]);
    canvasRef.current?.reveal(which);
    if (field !== undefined) ui.openField(which.slice(which.indexOf("/") + 1), field);
  },
  openField(block: string, name: string): void {
    select([item("block", block)]);
    updateSettings({ rightOpen: true, rightTab: "properties" });
    useUi.setState({ field: { block, name } });
  },
  clearField(): void {
    useUi.setState({ field: null });
  },
  openConstant(block: string, name: string): void {
    select([item("block", block)]);
    canvasRef.current?.reveal(item("block", block));
    useUi.setState({ constant: { block, name } });
  },
  closeConstant(): void {
    useUi.setState({ constant: null });
  },
  showDocs(op: string): void {
    useUi.setState({ docs: op });
  },

  openSearch(search: Partial<SearchState> = {}): void {
    const place = search.place ?? canvasRef.current?.centre() ?? { x: 0, y: 0 };
    useUi.setState({
      search: { at: null, end: null, wire: null, replace: null, mode: "blocks", ...search, place },
    });
  },
  closeSearch(): void {
    useUi.setState({ search: null });
    canvasRef.current?.focus();
  },
  insertOn(wire: string): void {
    ui.openSearch({ wire });
  },
  openMenu(label: string, at: Point, items: MenuItem[]): void {
    useUi.setState({ menu: { label, at, items } });
  },
  closeMenu(): void {
    useUi.setState({ menu: null });
  },
  openDialog(dialog: DialogKind): void {
    useUi.setState({ dialog });
  },
  confirm(question: Confirmation): void {
    ui.openDialog({ kind: "confirm", ...question });
  },
  closeDialog(): void {
    useUi.setState({ dialog: null });
  },
  connectTo(to: InputRef): void {
    ui.openDialog({ kind: "connect", block: to.block, end: { to } });
  },
  connectFrom(from: OutputRef): void {
    ui.openDialog({ kind: "connect", block: from.block, end: { from } });
  },

  /** Adds a block of an op, by default near the selection or the middle of the canvas. */
  addOp(name: string, at?: Point, wire?: string): void {
    const page = currentPage();
    const info = studio.state.ops.get(name);
    if (page === undefined || info === undefined) return;
    const place = at ?? positionFor(info, canvasRef.current?.centre() ?? { x: 0, y: 0 });
    const onto = wire === undefined ? undefined : page.graph.byId.get(wire);
    dispatch(onto ? insertOnWire(page.graph, onto, info, place) : addBlock(page.document, info, place));
    studio.noteUsedOp(name);
    useUi.setState({ docs: name });
  },
  /** The nearest free rectangle at or below a point, clear of blocks, notes and monitors. */
  findFreeRect(wanted: Point, size: Pick<Rect, "width" | "height">): Rect {
    const page = currentPage();
    if (page === undefined) return { ...wanted, ...size };
    const boxes = [
      ...Object.keys(page.document.notes ?? {}).map((name) => item("note", name)),
      ...monitorsOnPage(page.document).map((name) => item("monitor", name)),
    ];
    const taken = [...page.places.values(), ...rectsOf(page.document, boxes, page.places).values()];
    return { ...freePosition(taken, wanted, size.height, size.width), ...size };
  },
  addMonitor(pin: string): void {
    const page = currentPage();
    if (page === undefined) return;
    const rank = page.graph.checked?.pins[pin]?.shape?.length ?? 0;
    const block = page.places.get(pin.slice(0, pin.indexOf(":")));
    const below = { x: block?.x ?? 0, y: (block?.y ?? 0) + (block?.height ?? 0) + 24 };
    const rect = ui.findFreeRect(below, { width: 320, height: 200 });
    dispatch(
      addMonitor(page.document, rank === 0 ? "trend" : rank === 2 ? "image" : "histogram", [{ pin }], rect),
    );
  },
  /** Opens a page, a lesson, a draft or a new page, and shows it. Lessons run at once. */
  async openPage(what: { path?: string; lesson?: string; unsaved?: string }): Promise<void> {
    try {
      const page = await studio.open(what);
      useUi.setState({ gallery: false });
      if (what.lesson !== undefined) {
        const document = studio.page(page)?.document ?? {};
        if (Object.keys(document.monitors ?? {}).length > monitorsOnPage(document).length)
          updateSettings({ bottomOpen: true, bottomTab: "monitors" });
        studio.run(page, mainRun(document));
      }
    } catch (error) {
      studio.notice("error", (error as Error).message);
    }
  },
  /** Opens a document without a file: a worked case, or a page embedded in an image. */
  async openDocument(document: PageDocument): Promise<void> {
    const page = await studio.open();
    const edits = Object.entries(document)
      .filter(([key]) => key !== "format")
      .map(([key, value]) => ({ path: [key], value: value as never }));
    studio.commit(page, edits, { kind: "paste", count: Object.keys(document.blocks ?? {}).length });
    useUi.setState({ gallery: false });
    requestAnimationFrame(() => canvasRef.current?.showInitialView());
  },
  setEditing(note: string | null): void {
    useUi.setState({ editing: note });
  },
  openExplain(block: string): void {
    const page = currentPage()?.page;
    if (page !== undefined) useUi.setState({ explain: { page, block } });
  },
  closeExplain(): void {
    useUi.setState({ explain: null });
    requestAnimationFrame(() => canvasRef.current?.focus());
  },
  showGallery(on: boolean): void {
    useUi.setState({ gallery: on });
    if (on) studio.listFiles();
  },
};

/** The position of a new block: right of the selected block, or at a point; the nearest that is free. */
function positionFor(info: OpInfo, at: Point): Point {
  const page = currentPage();
  const places = page?.places ?? new Map<string, Rect>();
  const [selected] = namesOf(page?.selection ?? [], "block");
  const beside = selected === undefined ? undefined : places.get(selected);
  const wanted = beside
    ? { x: beside.x + beside.width + COLUMN_GAP, y: beside.y }
    : { x: at.x - 100, y: at.y - 60 };
  const [view] = graphOf({ blocks: { fresh: newBlock(info) } }, studio.state.ops).blocks.values();
  return ui.findFreeRect(wanted, { width: BLOCK_WIDTH, height: view ? blockHeight(view) : 0 });
}
