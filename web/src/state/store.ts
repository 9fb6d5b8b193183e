/**
 * The studio: it carries out user actions, talks to the server, and is the only writer of `useStudio`. Pages change in
 * one way: `commit`. Values of a run are in `live.ts`.
 */

import type { Action, Item, Label } from "../model/action.ts";
import { diff, type Edit } from "../model/document.ts";
import { endMergedStep, type History, NO_HISTORY, type PendingChange } from "../model/history.ts";
import { type OpInfo, Ops } from "../model/ops.ts";
import { pageTitle } from "../model/page-title.ts";
import { mergeRuns, type RunsView } from "../model/runs.ts";
import { Client, type Connection, type Socket } from "../net/client.ts";
import type {
  Changed,
  Checked,
  ClientMessage,
  Open,
  Opened,
  PageView,
  Refused,
  Run,
  RunState,
  ServerMessage,
  TabState,
  Welcome,
} from "../net/generated.ts";
import * as sync from "../net/sync.ts";
import { coreStrings, type Language } from "../text/index.ts";
import { forgetLive, live, renumberLive, type Watched } from "./live.ts";
import {
  affectedBlocks,
  IDLE,
  newPageState,
  type PageState,
  viewOf,
  withDocument,
  withGraph,
  withRun,
  withSaved,
} from "./page-state.ts";
import { Requests } from "./requests.ts";
import { type Notice, renumbered, type StudioState, useStudio, withoutPage } from "./studio-state.ts";

export { isCheckCurrent, isJournaled, type PageState } from "./page-state.ts";
export { type StudioState, useStudio } from "./studio-state.ts";

const MAX_RECENT = 20;
/** The most closed pages that can be reopened. */
const MAX_CLOSED = 20;

/** The most undo steps of a page that are kept for a reload. */
const MAX_KEPT_STEPS = 200;

/** The undo history of a page, and the revision of the document that it belongs to. */
export interface KeptHistory extends History {
  readonly revision: number;
}

/** The controller of all open pages. */
export class Studio {
  /** The user's settings; the view sets where they come from. */
  settings: () => { readonly language: Language; readonly rerun: boolean } = () => ({
    language: "en",
    rerun: true,
  });
  readonly requests = new Requests(
    (command) => this.send(command),
    () => this.noConnection(),
  );
  private readonly client: Client;
  private notices = 0;
  /** Pages that are being opened again after a reconnect, by request; `rescue` into a new page. */
  private readonly reopening = new Map<number, { readonly page: number; readonly rescue: boolean }>();
  /** Requests for pages that are not activated when they are open. */
  private readonly inBackground = new Set<number>();

  constructor(connect?: () => Socket) {
    this.client = new Client(
      {
        onConnection: (state) => this.connection(state),
        onMessage: (message) => this.handle(message),
        onFrame: (frame) => this.requests.resolve(frame.header.request, frame),
      },
      connect,
    );
  }

  start(): void {
    this.client.start();
  }

  stop(): void {
    this.client.stop();
  }

  retry(): void {
    this.client.retry();
  }

  /** Sets the op registry once ops.json is loaded, and rebuilds the graphs with it. */
  setOps(registry: readonly OpInfo[]): void {
    const ops = new Ops(registry);
    const pages = Object.values(this.state.pages).map((page) => [page.page, withGraph(page, ops)] as const);
    useStudio.setState({ ops, ready: true, pages: Object.fromEntries(pages) });
  }

  get language(): Language {
    return this.settings().language;
  }

  get state(): StudioState {
    return useStudio.getState();
  }

  page(page: number | null = this.state.active): PageState | undefined {
    return page === null ? undefined : this.state.pages[page];
  }

  // -- edits ----------------------------------------------------------------------------------

  /** Applies and sends edits. Consecutive commits with the same `merge` key are one undo step. */
  commit(page: number, edits: readonly Edit[], label: Label, merge?: string): void {
    const now = this.page(page);
    if (!now || !edits.length) return;
    const change = sync.makeChange(now.synced, edits, this.labelText(label), merge);
    this.applyOwn(now, change);
  }

  dispatch(page: number, action: Action, merge?: string): void {
    this.commit(page, action.edits, action.label, merge);
  }

  /** Ends a merged undo step. */
  endUndoStep(page: number): void {
    this.update(page, (now) => ({
      ...now,
      synced: { ...now.synced, history: endMergedStep(now.synced.history) },
    }));
  }

  undo(page: number): void {
    const now = this.page(page);
    const change = now && sync.undoChange(now.synced);
    if (change) this.applyOwn(now, change);
  }

  redo(page: number): void {
    const now = this.page(page);
    const change = now && sync.redoChange(now.synced);
    if (change) this.applyOwn(now, change);
  }

  private applyOwn({ page }: PageState, { synced, change }: sync.OwnChange): void {
    this.applyDocument(page, synced, change.edits, true);
    // Changes during a reconnect stay pending, and are sent when the page is open again.
    if (page > 0) this.sendChange(page, synced, change);
  }

  private sendChange(
    page: number,
    { client }: sync.SyncState,
    { number, edits, label }: PendingChange,
  ): void {
    this.send({ kind: "change", page, client, number, edits, label });
  }

  /** Replaces the document: updates graph and selection, and marks values as stale. */
  private applyDocument(page: number, synced: sync.SyncState, edits: readonly Edit[], here = false): void {
    this.update(page, (now) => withDocument(now, synced));
    const now = this.page(page);
    if (!now) return;
    const changed = affectedBlocks(now.graph, edits);
    live(page).changed(changed, sync.expectedRevision(synced), here);
    if (here && edits.some(({ path }) => path[0] === "monitors"))
      live(page).monitorsChanged(sync.expectedRevision(synced));
    // The edit may have fixed the error of the last run.
    const { problem, ...run } = now.run;
    if (problem && changed.size) this.update(page, (each) => withRun(each, run));
  }

  private labelText(label: Label): string {
    return coreStrings[this.language].labels[label.kind](label);
  }

  /** Adds an op to the recently used ones, which search prefers. */
  noteUsedOp(op: string): void {
    const recent = [op, ...this.state.recent.filter((each) => each !== op)].slice(0, MAX_RECENT);
    useStudio.setState({ recent });
  }

  // -- selection, tabs, notices ---------------------------------------------------------------

  select(page: number, items: Iterable<Item>): void {
    this.update(page, (now) => ({ ...now, selection: new Set(items) }));
  }

  activate(page: number): void {
    if (this.state.pages[page]) useStudio.setState({ active: page });
  }

  moveTabTo(page: number, place: number): void {
    const left = this.state.tabs.filter((each) => each !== page);
    useStudio.setState({ tabs: left.toSpliced(place, 0, page) });
  }

  notice(
    kind: Notice["kind"],
    text: string,
    page: number | null = this.state.active,
    command?: Notice["command"],
  ): void {
    const notice = { id: ++this.notices, kind, text, page, ...(command && { command }) };
    useStudio.setState({ notices: [...this.state.notices.slice(-4), notice] });
  }

  dismiss(id: number): void {
    useStudio.setState({ notices: this.state.notices.filter((notice) => notice.id !== id) });
  }

  dismissDraft(page: number): void {
    this.update(page, (now) => ({ ...now, draft: null }));
  }

  dismissSaveRefusal(page: number): void {
    this.update(page, (now) => ({ ...now, saveRefused: null }));
  }

  // -- commands to the server -----------------------------------------------------------------

  private send(command: ClientMessage): boolean {
    return this.client.send(command);
  }

  private noConnection(): string {
    return coreStrings[this.language].notices.lost;
  }

  /** Opens a page file, a copy of a lesson, an unsaved draft, or a new page; resolves to its number. */
  async open(what: Omit<Open, "kind" | "request"> = {}, inBackground = false): Promise<number> {
    const opened = await this.requests.ask<Opened>((request) => {
      if (inBackground) this.inBackground.add(request);
      return { kind: "open", request, ...what };
    });
    return opened.page;
  }

  /** Closes a page, and says where its unsaved changes are. */
  close(page: number): void {
    const now = this.page(page);
    if (!now) return;
    const closed = [...this.state.closed, viewOf(now, live(page).viewport)].slice(-MAX_CLOSED);
    useStudio.setState({ closed });
    if (now.dirty) {
      const { closedDraft, closedFile } = coreStrings[this.language].notices;
      const text = now.path ? closedFile(now.path) : closedDraft(pageTitle(now.document, this.language));
      this.notice("info", text, null, "reopen");
    }
    this.send({ kind: "close", page });
    this.forgetPage(page);
  }

  /** Opens the page that was closed last. */
  async reopenClosed(): Promise<void> {
    const last = this.state.closed.at(-1);
    if (last === undefined) return;
    const notices = this.state.notices.filter(({ command }) => command !== "reopen");
    useStudio.setState({ closed: this.state.closed.slice(0, -1), notices });
    const page = await this.openView(last);
    if (page !== null) this.activate(page);
  }

  /** Opens the pages of an earlier session. */
  async restore({ pages, active = -1 }: TabState): Promise<void> {
    useStudio.setState({ restoring: true });
    const opened = await Promise.all(pages.map((view) => this.openView(view)));
    const found = new Set(opened.filter((page) => page !== null));
    const others = this.state.tabs.filter((page) => !found.has(page));
    const wanted = opened[active] ?? opened.find((page) => page !== null) ?? null;
    useStudio.setState({
      restoring: false,
      tabs: [...found, ...others],
      active: this.state.active ?? wanted,
    });
  }

  /** Opens a page as it was shown, without activating it; null if it cannot be opened, which is said. */
  private async openView({ viewport, ...what }: PageView): Promise<number | null> {
    try {
      const page = await this.open(what, true);
      const [x, y, zoom] = viewport ?? [];
      if (x !== undefined && y !== undefined && zoom !== undefined) live(page).viewport ??= { x, y, zoom };
      return page;
    } catch (error) {
      this.notice("error", (error as Error).message);
      return null;
    }
  }

  /** The pages that are open, for the next session; undefined while pages are being opened again. */
  tabState(): TabState | undefined {
    const { tabs, active, connection, restoring } = this.state;
    if (connection !== "open" || restoring || tabs.some((page) => page <= 0)) return undefined;
    const pages = tabs.map((page) => viewOf(this.page(page) as PageState, live(page).viewport));
    return { pages, active: active === null ? -1 : tabs.indexOf(active) };
  }

  /** The undo histories of the open pages, with the revision that each belongs to. */
  histories(): Record<string, KeptHistory> {
    return Object.fromEntries(
      Object.values(this.state.pages).map(({ path, unsaved, synced }) => {
        const { undo, redo } = synced.history;
        const kept = { undo: undo.slice(-MAX_KEPT_STEPS), redo: redo.slice(-MAX_KEPT_STEPS) };
        return [path || unsaved, { ...kept, revision: sync.expectedRevision(synced) }];
      }),
    );
  }

  /** Gives pages their undo histories back, if nothing has changed them since. */
  restoreHistories(kept: Readonly<Record<string, KeptHistory>>): void {
    for (const { page, path, unsaved } of Object.values(this.state.pages)) {
      const found = kept[path || unsaved];
      if (found === undefined) continue;
      const { revision, ...history } = found;
      this.update(page, (now) => {
        const fits = now.synced.revision === revision && now.synced.history === NO_HISTORY;
        return fits ? { ...now, synced: { ...now.synced, history } } : now;
      });
    }
  }

  keepTabState(state: TabState): void {
    this.send({ kind: "keep tab state", state });
  }

  deleteDraft(name: string): void {
    this.send({ kind: "delete draft", name });
  }

  private forgetPage(page: number): void {
    useStudio.setState(withoutPage(this.state, page));
    forgetLive(page);
  }

  save(page: number, path = "", overwrite = false): void {
    this.update(page, (now) => ({ ...now, saveRefused: null, saveTarget: path }));
    this.send({ kind: "save", page, path, overwrite });
  }

  revert(page: number, version = ""): void {
    this.send({ kind: "revert", page, version });
    this.dismissDraft(page);
  }

  listVersions(page: number): void {
    this.send({ kind: "list versions", page });
  }

  listFiles(): void {
    this.send({ kind: "list files" });
  }

  run(page: number, how: Omit<Run, "kind" | "page"> = {}): void {
    const command: Run = { kind: "run", page, ...how };
    live(page).startRun(command);
    this.send(command);
  }

  /** Repeats the last run with access to files. */
  allowFiles(page: number): void {
    this.run(page, { ...live(page).lastRun, allow_files: true });
  }

  /** Declines access to files. The run has not begun, so there is nothing to cancel. */
  refuseFiles(page: number): void {
    this.update(page, (now) => ({ ...now, run: { ...IDLE, page } }));
  }

  changeSnapshot(page: number, what: "keep" | "restore" | "delete", run = 0): void {
    this.send({ kind: "snapshot", page, what, run });
  }

  viewRuns(page: number, view: Partial<RunsView>): void {
    this.update(page, (now) => ({ ...now, runsView: { ...now.runsView, ...view } }));
  }

  control(page: number, what: "pause" | "go on" | "step" | "stop" | "reset"): void {
    this.send({ kind: "control", page, what });
  }

  /** Subscribes to the thumbnails of outputs, with rows and columns of pictures where their axes have names. */
  watch(page: number, watched: Watched): void {
    live(page).watched = watched;
    if (page > 0) this.send({ kind: "subscribe", page, ...watched });
  }

  // -- messages of the server -----------------------------------------------------------------

  private connection(connection: Connection): void {
    const before = this.state.connection;
    useStudio.setState({ connection });
    if (connection === "lost") {
      this.requests.rejectAll(this.noConnection());
      if (before === "open") this.notice("error", this.noConnection(), null);
    }
  }

  private handle(message: ServerMessage): void {
    const take = this.handlers[message.kind] as (message: ServerMessage) => void;
    take(message);
  }

  private readonly handlers: {
    [Kind in ServerMessage["kind"]]: (message: Extract<ServerMessage, { kind: Kind }>) => void;
  } = {
    welcome: (message) => this.welcomed(message),
    opened: (message) => this.opened(message),
    changed: (message) => this.changed(message),
    journaled: ({ page, revision }) => this.update(page, (now) => ({ ...now, journaled: revision })),
    saved: ({ page, path }) => this.update(page, (now) => withSaved(now, path)),
    "save refused": (message) => this.update(message.page, (now) => ({ ...now, saveRefused: message })),
    versions: ({ page, versions }) => this.update(page, (now) => ({ ...now, versions })),
    files: ({ files }) => useStudio.setState({ files }),
    drafts: ({ drafts }) => useStudio.setState({ drafts }),
    checked: (message) => this.checked(message),
    "run state": (message) => this.handleRunState(this.localized(message)),
    "block states": (message) => live(message.page).applyStates(message),
    summaries: (message) => live(message.page).applyResults(message),
    monitored: (message) => live(message.page).applyMonitored(message),
    runs: (message) => this.update(message.page, (now) => ({ ...now, runs: mergeRuns(now.runs, message) })),
    "runs compared": (message) => this.requests.resolve(message.request, message),
    "console output": (message) => live(message.page).applyConsole(message),
    "element texts": (message) => this.requests.resolve(message.request, message),
    statistics: (message) => this.requests.measured(message),
    progress: ({ request, part }) => this.requests.progressed(request, part),
    "found non-finite": (message) => this.requests.resolve(message.request, message),
    explained: (message) => this.requests.resolve(message.request, message),
    "gradient checked": (message) => this.requests.resolve(message.request, message),
    exported: (message) => this.requests.resolve(message.request, message),
    refused: (message) => this.refused(message),
  };

  /** An error without a block is shown nowhere on the canvas, so it becomes a notice, once. */
  private handleRunState(run: RunState): void {
    const { problem } = run;
    const said = this.state.pages[run.page]?.run.problem?.text === problem?.text;
    if (problem && !problem.block && !said) this.notice("error", `${problem.text} ${problem.hint ?? ""}`);
    this.update(run.page, (now) => withRun(now, run));
  }

  /** Translates errors of the run process, which the library does not raise. */
  private localized(run: RunState): RunState {
    const { problem } = run;
    if (!problem?.reason) return run;
    const { why, anew, smaller } = coreStrings[this.language].ends;
    const text = why[problem.reason](problem.detail ?? "");
    return { ...run, problem: { ...problem, text, hint: problem.reason === "memory" ? smaller : anew } };
  }

  /** Opens all pages again after a reconnect. */
  private welcomed(welcome: Welcome): void {
    const before = this.state.welcome;
    useStudio.setState({ welcome });
    if (!before) return;
    this.notice("info", coreStrings[this.language].notices.back, null);
    for (const page of this.state.tabs) {
      // A temporary number: the server may give the old one to another page before this one is open again.
      const away = -this.requests.nextNumber();
      this.renumber(page, away);
      const now = this.page(away) as PageState;
      const { viewport: _, ...what } = viewOf(now, undefined);
      const { client, pending } = now.synced;
      if (now.path || now.unsaved)
        this.reopen(away, { ...what, client, pending: pending.map(({ number }) => number) });
      else this.rescue(away);
    }
  }

  private renumber(old: number, page: number): void {
    useStudio.setState(renumbered(this.state, old, page));
    renumberLive(old, page);
  }

  private reopen(page: number, what: Omit<Open, "kind" | "request">, rescue = false): void {
    const request = this.requests.nextNumber();
    this.reopening.set(request, { page, rescue });
    this.send({ kind: "open", request, ...what });
  }

  /** Opens a new page for the document of one that the server has lost, so that nothing of it is lost. */
  private rescue(page: number): void {
    this.reopen(page, {}, true);
  }

  private opened(message: Opened): void {
    const { page, request } = message;
    const reopened = this.reopening.get(request);
    this.reopening.delete(request);
    const old = reopened && this.page(reopened.page);
    if (reopened && !old) {
      // The user has closed the page meanwhile.
      this.send({ kind: "close", page });
      return;
    }
    if (reopened && old) {
      this.renumber(reopened.page, page);
      this.setPage(page, {
        ...newPageState(message, this.mergeReopened(message, old, reopened.rescue), old.graph.ops),
        selection: old.selection,
        draft: old.draft,
      });
      const { synced } = this.page(page) as PageState;
      for (const each of synced.pending) this.sendChange(page, synced, each);
      this.watch(page, live(page).watched);
      return;
    }
    if (!this.page(page)) {
      const synced = sync.newSyncState(sync.newClient(), message.document, message.revision);
      this.setPage(page, newPageState(message, synced, this.state.ops));
      useStudio.setState({ tabs: [...this.state.tabs, page] });
    }
    if (!this.inBackground.delete(request)) useStudio.setState({ active: page });
    this.requests.resolve(request, message);
  }

  private setPage(page: number, now: PageState): void {
    useStudio.setState({ pages: { ...this.state.pages, [page]: now } });
  }

  /** The server's document with the changes of this tab that it does not have yet. */
  private mergeReopened(opened: Opened, old: PageState, rescue: boolean): sync.SyncState {
    const { document, revision } = opened;
    if (!rescue) return sync.rebaseReopened(old.synced, document, revision, opened.applied);
    const label = this.labelText({ kind: "restore" });
    const edits = diff(document, old.document);
    const { synced } = sync.makeChange(sync.newSyncState(sync.newClient(), document, revision), edits, label);
    return { ...synced, history: old.synced.history };
  }

  private changed({ page, revision, edits, client, number, label }: Changed): void {
    const now = this.page(page);
    if (!now) return;
    if (number && client === now.synced.client) {
      this.update(page, (each) => withDocument(each, sync.acknowledged(each.synced, number, revision)));
      return;
    }
    const text = label === "revert" ? this.labelText({ kind: "revert" }) : undefined;
    const synced = sync.applyForeign(now.synced, edits, revision, text);
    this.applyDocument(page, synced, edits);
  }

  private refused({ text, request, page, number }: Refused): void {
    if (request && this.requests.reject(request, text)) return;
    const reopened = request ? this.reopening.get(request) : undefined;
    if (request && reopened !== undefined) {
      this.reopening.delete(request);
      this.rescue(reopened.page);
    }
    const now = page ? this.page(page) : undefined;
    this.notice("error", coreStrings[this.language].notices.refused(text));
    if (now && number) this.applyDocument(now.page, sync.revertRefused(now.synced, number), []);
  }

  private checked(checked: Checked): void {
    this.update(checked.page, (now) => withGraph({ ...now, checked }, this.state.ops));
    this.rerunIfQuick(checked);
  }

  /** Reruns a page after an edit of this tab if it has no problems, is idle and its last run was quick. */
  private rerunIfQuick({ page, revision, problems }: Checked): void {
    const now = this.page(page);
    const last = live(page).lastRun;
    if (
      !this.settings().rerun ||
      !now ||
      !last ||
      problems.length ||
      now.run.state !== "idle" ||
      now.run.problem
    )
      return;
    const quick = (last.mode ?? "once") === "once" && (now.run.seconds ?? 1) < RERUN_LIMIT;
    const changed = live(page).changedHereSince(revision);
    if (quick && changed) this.run(page, { ...last, automatic: true });
  }

  private update(page: number, change: (now: PageState) => PageState): void {
    const now = this.state.pages[page];
    if (now) this.setPage(page, change(now));
  }
}

/** In seconds. */
const RERUN_LIMIT = 0.5;

export const studio = new Studio();
