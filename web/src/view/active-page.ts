/** The active page: hooks that select parts of it, and dispatch of actions to it. */

import type { Action, AddAction, Item } from "../model/action.ts";
import { namesOf } from "../model/action.ts";
import type { BlockView, Graph } from "../model/graph.ts";
import type { Ops } from "../model/ops.ts";
import type { Problem } from "../net/generated.ts";
import { type PageState, studio, useStudio } from "../state/store.ts";
import { canvasRef } from "./canvas-ref.ts";

const NO_SELECTION: ReadonlySet<Item> = new Set();
const NO_PROBLEMS: readonly Problem[] = [];

/** Selects a part of the active page; `otherwise` if there is none. */
export function usePage<T>(part: (page: PageState) => T, otherwise: T): T {
  return useStudio((state) => {
    const page = state.active === null ? undefined : state.pages[state.active];
    return page === undefined ? otherwise : part(page);
  });
}

export function useOps(): Ops {
  return useStudio((state) => state.ops);
}

export function useGraph(): Graph | null {
  return usePage<Graph | null>((page) => page.graph, null);
}

export function useSelection(): ReadonlySet<Item> {
  return usePage((page) => page.selection, NO_SELECTION);
}

export function useProblems(): readonly Problem[] {
  return usePage((page) => page.problems, NO_PROBLEMS);
}

/** The selected block, if just one is selected. */
export function useSelectedBlock(): BlockView | undefined {
  return usePage<BlockView | undefined>(({ graph, selection }) => {
    const [name, more] = namesOf(selection, "block");
    return name === undefined || more !== undefined ? undefined : graph.blocks.get(name);
  }, undefined);
}

export function currentPage(): PageState | undefined {
  return studio.page();
}

/** Applies an action to the active page, and selects and reveals added items. */
export function dispatch(action: Action | AddAction): void {
  const page = studio.page();
  if (page === undefined) return;
  studio.dispatch(page.page, action);
  if (!("added" in action)) return;
  studio.select(page.page, action.added);
  const [first] = action.added;
  // The canvas has the item after the next frame.
  if (first !== undefined) requestAnimationFrame(() => canvasRef.current?.reveal(first));
}

export function select(items: Iterable<Item>): void {
  const page = studio.page();
  if (page !== undefined) studio.select(page.page, items);
}

/** The file name of a page without extension, from its path or title. */
export function fileName(page: PageState): string {
  const stem =
    page.path.replace(/^.*\//, "").replace(/\.page\.json$/, "") ||
    (page.document.title ?? "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_");
  return stem.replace(/^_+|_+$/g, "") || "page";
}
