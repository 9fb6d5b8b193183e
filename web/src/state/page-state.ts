/** The state of an open page, and pure functions that update it. */

import type { Item } from "../model/action.ts";
import type { Edit, PageDocument } from "../model/document.ts";
import { blockRects, type Rect } from "../model/geometry.ts";
import { type Graph, graphOf, reach } from "../model/graph.ts";
import type { Ops } from "../model/ops.ts";
import type { Checked, Draft, Opened, Problem, RunState, SaveRefused, Version } from "../net/generated.ts";
import * as sync from "../net/sync.ts";

export interface PageState {
  /** The server's number of the page. */
  readonly page: number;
  readonly path: string;
  /** The id of the draft of a page without a file. */
  readonly unsaved: string;
  readonly synced: sync.SyncState;
  readonly document: PageDocument;
  readonly graph: Graph;
  /** The rectangles of the blocks. */
  readonly places: ReadonlyMap<string, Rect>;
  readonly selection: ReadonlySet<Item>;
  readonly checked?: Checked;
  readonly problems: readonly Problem[];
  readonly run: RunState;
  /** The revision that was saved to the file; -1 if none. */
  readonly savedRevision: number;
  /** The last revision that is in the journal on disk. */
  readonly journaled: number;
  /** Restored changes of an earlier session; null once dismissed. */
  readonly draft: Draft | null;
  readonly versions: readonly Version[] | null;
  readonly saveRefused: SaveRefused | null;
  /** The path of the last save; empty for the page's own file. */
  readonly saveTarget: string;
}

/** The run state of an idle page. */
export const IDLE: Omit<RunState, "page"> = { kind: "run state", state: "idle" };

export function newPageState(message: Opened, synced: sync.SyncState, ops: Ops): PageState {
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

/** Rebuilds the graph; the error of the last run is listed with the problems of the check. */
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

export function withDocument(page: PageState, synced: sync.SyncState): PageState {
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

/** The blocks whose results may change by these edits. */
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

/** Whether there are changes since the last save, or since the page was created. */
export function isDirty(page: PageState): boolean {
  return sync.expectedRevision(page.synced) !== Math.max(page.savedRevision, 0);
}

/** Whether all changes are in the journal on disk, so that a crash would lose nothing. */
export function isJournaled(page: PageState): boolean {
  return page.synced.pending.length === 0 && page.journaled >= page.synced.revision;
}
