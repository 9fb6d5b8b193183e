/** Queries of the selection, and commands on it. */

import * as actions from "../model/actions.ts";
import { constantsOf, type Direction, outputPinOf, reach } from "../model/graph.ts";
import { type PageState, studio } from "./store.ts";

export const selectionHas = (...kinds: actions.ItemKind[]): ((page: PageState) => boolean) => {
  return ({ selection }) => [...selection].some((each) => kinds.includes(actions.parseItem(each).kind));
};
export const hasSelection = selectionHas("block", "frame", "note", "monitor", "wire");
export const hasBlocks = selectionHas("block");

export function selectedBlocks(page: PageState): string[] {
  return actions.namesOf(page.selection, "block");
}

export function removeSelection(page: PageState, heal: boolean): void {
  const of = (kind: actions.ItemKind): string[] => actions.namesOf(page.selection, kind);
  const what = {
    blocks: of("block"),
    wires: of("wire"),
    frames: of("frame"),
    notes: of("note"),
    monitors: of("monitor"),
  };
  studio.dispatch(page.page, actions.removeAll(page.graph, what, heal));
}

export function selectReach(direction: Direction): (page: PageState) => void {
  return (page) => {
    const found = reach(page.graph, selectedBlocks(page), direction);
    studio.select(
      page.page,
      [...found].map((name) => actions.item("block", name)),
    );
  };
}

/** Selects the next wire of a block. */
export function selectWire({ page, graph, selection }: PageState): void {
  const [id] = actions.namesOf(selection, "wire");
  const block = actions.namesOf(selection, "block")[0] ?? graph.byId.get(id ?? "")?.to.block ?? "";
  const around = [...(graph.into.get(block) ?? []), ...(graph.outOf.get(block) ?? [])];
  const next = around[(around.findIndex((wire) => wire.id === id) + 1) % around.length];
  if (next) studio.select(page, [actions.item("wire", next.id)]);
}

export function allItems({ document }: PageState): actions.Item[] {
  const all = (kind: "block" | "frame" | "note" | "monitor"): actions.Item[] =>
    Object.keys(document[`${kind}s`] ?? {}).map((name) => actions.item(kind, name));
  return [...all("block"), ...all("frame"), ...all("note"), ...all("monitor")];
}

/** Adds items and selects them. */
export function dispatchAdd(page: PageState, adding: actions.AddAction): void {
  studio.dispatch(page.page, adding);
  studio.select(page.page, adding.added);
}

/** Adds the gradients of the selected blocks in one undo step and selects them, without their helper blocks. */
export function addSelectedGradients(page: PageState): void {
  const made: actions.Item[] = [];
  for (const name of selectedBlocks(page)) {
    const now = studio.page(page.page);
    const view = now?.graph.blocks.get(name);
    const [first] = view ? actions.gradientsFor(view) : [];
    if (!now || !first) continue;
    const adding = actions.addGradient(now.graph, name, first);
    studio.dispatch(page.page, adding, "gradient");
    made.push(...adding.added.slice(0, 1));
  }
  studio.endUndoStep(page.page);
  studio.select(page.page, made);
}

/** Converts the constants of the selected blocks to blocks, in one undo step. */
export function constantsToBlocks(page: PageState): void {
  const pins = selectedBlocks(page).flatMap((name) => page.graph.blocks.get(name)?.inputs ?? []);
  for (const { ref, state } of pins) {
    const now = studio.page(page.page);
    if (now && state === "constant")
      studio.dispatch(page.page, actions.constantToBlock(now.graph, ref), "constants");
  }
  studio.endUndoStep(page.page);
}

export function hasConstants(page: PageState): boolean {
  return selectedBlocks(page).some((name) =>
    page.graph.blocks.get(name)?.inputs.some((pin) => pin.state === "constant"),
  );
}

/** The fixes of the selected blocks' problems; without a selected block, those of the first problem that has some. */
export function availableFixes(page: PageState): actions.ProblemFix[] {
  const blocks = selectedBlocks(page);
  if (blocks.length > 0)
    return actions.fixesOf(page.problems.filter(({ block }) => blocks.includes(block ?? "")));
  const first = page.problems.find(({ fixes }) => fixes?.length);
  return actions.fixesOf(first ? [first] : []);
}

/** The first constant of the selected blocks. */
export function firstConstant({ graph, selection }: PageState): [block: string, name: string] | undefined {
  for (const block of actions.namesOf(selection, "block")) {
    const view = graph.blocks.get(block);
    const [first] = view ? constantsOf(view) : [];
    if (first) return [block, first.name];
  }
  return undefined;
}

/** The first output of the selected block, if just one is selected. */
export function selectedOutput(page: PageState): ReturnType<typeof outputPinOf> {
  const [block, more] = selectedBlocks(page);
  return block === undefined || more !== undefined ? undefined : outputPinOf(page.graph, { block });
}

export function selectedRects(page: PageState): ReturnType<typeof actions.rectsOf> {
  return actions.rectsOf(page.document, page.selection, page.places);
}

export function hasMultiple({ selection }: PageState): boolean {
  return selection.size > 1;
}
