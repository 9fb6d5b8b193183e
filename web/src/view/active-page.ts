/** The page that is shown, as parts of the view ask for it. */

import type { Action, AddAction, Item } from "../model/action.ts";
import { namesOf } from "../model/action.ts";
import type { BlockView, Graph } from "../model/graph.ts";
import type { Ops } from "../model/ops.ts";
import type { Problem } from "../net/generated.ts";
import { type PageState, studio, useStudio } from "../state/store.ts";
import { canvasRef } from "./canvas-ref.ts";

const NO_SELECTION: ReadonlySet<Item> = new Set();
const NO_PROBLEMS: readonly Problem[] = [];

/** One part of the page that is shown, or what stands for it if there is none. */
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

/** The block that is selected, if just one is. */
export function useSelectedBlock(): BlockView | undefined {
  return usePage<BlockView | undefined>(({ graph, selection }) => {
    const [name, more] = namesOf(selection, "block");
    return name === undefined || more !== undefined ? undefined : graph.blocks.get(name);
  }, undefined);
}

export function currentPage(): PageState | undefined {
  return studio.page();
}

/** Changes the page that is shown. What is added is selected. */
export function dispatch(action: Action | AddAction): void {
  const page = studio.page();
  if (page === undefined) return;
  studio.dispatch(page.page, action);
  if (!("added" in action)) return;
  studio.select(page.page, action.added);
  const [first] = action.added;
  // The canvas shows it only after the next frame.
  if (first !== undefined) requestAnimationFrame(() => canvasRef.current?.reveal(first));
}

export function select(items: Iterable<Item>): void {
  const page = studio.page();
  if (page !== undefined) studio.select(page.page, items);
}

/** What a page's file is called without its ending, or would be. */
export function fileName(page: PageState): string {
  const stem =
    page.path.replace(/^.*\//, "").replace(/\.page\.json$/, "") ||
    (page.document.title ?? "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_");
  return stem.replace(/^_+|_+$/g, "") || "page";
}
