/** The state of an open page, and pure functions that update it. */

import type { Item } from "../model/action.ts";
import { type Edit, type Json, type PageDocument, sameJson } from "../model/document.ts";
import { blockRects, type Rect } from "../model/geometry.ts";
import { type Graph, graphOf, reach } from "../model/graph.ts";
import { withoutPending } from "../model/history.ts";
import type { Ops } from "../model/ops.ts";
import { NO_RUNS, NO_RUNS_VIEW, type RunList, type RunsView } from "../model/runs.ts";
import type { Viewport } from "../model/viewport.ts";
import type {
  Checked,
  Draft,
  Opened,
  PageView,
  Problem,
  RunState,
  SaveRefused,
  Version,
} from "../net/generated.ts";
import * as sync from "../net/sync.ts";

export interface PageState {
  /** The server's number of the page. */
  readonly page: number;
  readonly path: string;
  /** The id of the draft of a page without a file. */
  readonly unsaved: string;
  /** The lesson that it is a copy of; empty if it is none. */
  readonly lesson: string;
  readonly synced: sync.SyncState;
  readonly document: PageDocument;
  readonly graph: Graph;
  /** The rectangles of the blocks. */
  readonly places: ReadonlyMap<string, Rect>;
  readonly selection: ReadonlySet<Item>;
  readonly checked?: Checked;
  readonly problems: readonly Problem[];
  readonly run: RunState;
  readonly runs: RunList;
  readonly runsView: RunsView;
  /** The document of its file, or the first one of a page without a file; null if the file is gone. */
  readonly saved: PageDocument | null;
  /** Whether the document differs from it. */
  readonly dirty: boolean;
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
  const saved = message.saved === undefined ? message.document : message.saved;
  return {
    page: message.page,
    path: message.path ?? "",
    unsaved: message.unsaved ?? "",
    lesson: message.lesson ?? "",
    synced,
    document: synced.document,
    graph,
    places: blockRects(graph),
    selection: new Set(),
    problems: [],
    run: { ...IDLE, page: message.page },
    runs: NO_RUNS,
    runsView: NO_RUNS_VIEW,
    saved,
    dirty: differs(synced.document, saved),
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
  const dirty = differs(document, page.saved);
  const next = withGraph({ ...page, synced, document, dirty }, page.graph.ops);
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

function differs(document: PageDocument, saved: PageDocument | null): boolean {
  return saved === null || !sameJson(document as Json, saved as Json);
}

/** The page after the server has saved it, without the changes that it does not have yet. */
export function withSaved(page: PageState, path: string): PageState {
  const saved = withoutPending(page.document, page.synced.pending);
  const dirty = differs(page.document, saved);
  return { ...page, path, saved, dirty, draft: null, saveRefused: null };
}

/** How the page can be opened again, and the part of it that is shown. */
export function viewOf(page: PageState, viewport: Viewport | undefined): PageView {
  const { path, unsaved, lesson } = page;
  const untouched = !page.dirty && page.synced.pending.length === 0;
  return {
    ...(path ? { path } : { unsaved, lesson, untouched }),
    ...(viewport && { viewport: [viewport.x, viewport.y, viewport.zoom] }),
  };
}

/** Whether the problems are those of the document as it is. */
export function isCheckCurrent(page: PageState): boolean {
  return page.checked?.revision === sync.expectedRevision(page.synced);
}

/** Whether all changes are in the journal on disk, so that a crash would lose nothing. */
export function isJournaled(page: PageState): boolean {
  return page.synced.pending.length === 0 && page.journaled >= page.synced.revision;
}
