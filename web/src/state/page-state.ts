/** What is known of an open page, and how it becomes another when the document, the ops or the server's findings do. */

import type { Item } from "../model/action.ts";
import type { Edit, PageDocument } from "../model/document.ts";
import { blockRects, type Rect } from "../model/geometry.ts";
import { type Graph, graphOf, reach } from "../model/graph.ts";
import type { Ops } from "../model/ops.ts";
import type { Checked, Draft, Opened, Problem, RunState, SaveRefused, Version } from "../net/generated.ts";
import * as sync from "../net/sync.ts";

export interface PageState {
  /** The server's number of the page, which is its key here. */
  readonly page: number;
  readonly path: string;
  /** By which a page without a file is found again. */
  readonly unsaved: string;
  readonly synced: sync.Synced;
  readonly document: PageDocument;
  readonly graph: Graph;
  /** Where the blocks stand. */
  readonly places: ReadonlyMap<string, Rect>;
  readonly selection: ReadonlySet<Item>;
  readonly checked?: Checked;
  readonly problems: readonly Problem[];
  readonly run: RunState;
  /** The revision that the file holds; -1 if none. */
  readonly savedRevision: number;
  /** All changes up to this revision are on the disk. */
  readonly journaled: number;
  /** Changes of an earlier session that were found again; null once the user has seen it. */
  readonly draft: Draft | null;
  readonly versions: readonly Version[] | null;
  readonly saveRefused: SaveRefused | null;
  /** The path of the last save; empty for the page's own file. */
  readonly saveTarget: string;
}

/** A page that does not run. */
export const IDLE: Omit<RunState, "page"> = { kind: "run state", state: "idle" };

export function newPageState(message: Opened, synced: sync.Synced, ops: Ops): PageState {
  const graph = graphOf(synced.document, ops);
  return {
    page: message.page,
    path: message.path ?? "",
    unsaved: message.unsaved ?? "",
    synced,
    document: synced.document,
    graph,
    places: blockRects(graph),
    selection: new Set(),
    problems: [],
    run: { ...IDLE, page: message.page },
    savedRevision: message.saved_revision ?? -1,
    journaled: message.revision,
    draft: message.draft ?? null,
    versions: null,
    saveRefused: null,
    saveTarget: "",
  };
}

/** The page with its graph made anew; what ended the last run is wrong with it as much as what a check found. */
export function withGraph(page: PageState, ops: Ops): PageState {
  const problems = [...(page.checked?.problems ?? []), ...(page.run.problem ? [page.run.problem] : [])];
  const checked = page.checked && { ...page.checked, problems };
  const graph = graphOf(page.document, ops, checked, page.graph);
  return { ...page, graph, places: blockRects(graph), problems };
}

export function withRun(page: PageState, run: RunState): PageState {
  const next = { ...page, run };
  return (run.problem ?? null) === (page.run.problem ?? null) ? next : withGraph(next, page.graph.ops);
}

export function withDocument(page: PageState, synced: sync.Synced): PageState {
  const { document } = synced;
  if (document === page.document) return { ...page, synced };
  const next = withGraph({ ...page, synced, document }, page.graph.ops);
  const selection = new Set([...page.selection].filter((item) => exists(next, item)));
  return { ...next, selection: selection.size === page.selection.size ? page.selection : selection };
}

function exists({ graph, document }: PageState, item: Item): boolean {
  const slash = item.indexOf("/");
  const [kind, name] = [item.slice(0, slash), item.slice(slash + 1)];
  if (kind === "block") return graph.blocks.has(name);
  if (kind === "wire") return graph.byId.has(name);
  return Object.hasOwn((document[`${kind}s`] ?? {}) as object, name);
}

/** The blocks whose results may be others after these edits. */
export function affectedBlocks(graph: Graph, edits: readonly Edit[]): Set<string> {
  const blocks = new Set<string>();
  for (const { path } of edits) {
    const [section, name] = path;
    if (section === "blocks" && typeof name === "string") blocks.add(name);
    else if (section === "blocks" || section === "run")
      for (const each of graph.blocks.keys()) blocks.add(each);
  }
  return reach(graph, blocks, "downstream");
}

/** Whether the document differs from the file, or from what a page without a file began with. */
export function isDirty(page: PageState): boolean {
  return sync.revisionToCome(page.synced) !== Math.max(page.savedRevision, 0);
}

/** Whether all changes are on the disk: nothing would be lost if everything stopped now. */
export function isJournaled(page: PageState): boolean {
  return page.synced.pending.length === 0 && page.journaled >= page.synced.revision;
}
