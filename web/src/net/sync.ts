/**
 * The document of one page, as this tab and the server change it: optimistic updates. Own changes are shown at once
 * and are pending until the server acknowledges them; changes of other tabs are rebased below them.
 */

import { apply, type Edit, type PageDocument } from "../model/document.ts";
import {
  commit,
  type History,
  NO_HISTORY,
  type PendingChange,
  rebase,
  redo,
  type Transition,
  tryApply,
  undo,
  withoutPending,
  withPending,
} from "../model/history.ts";

export interface SyncState {
  /** Names this tab's own changes of the page: the server knows them by client and number. */
  readonly client: string;
  /** Of the last own change. */
  readonly number: number;
  readonly document: PageDocument;
  /** The last revision of the server that is in the document. */
  readonly revision: number;
  /** Own changes that are not acknowledged, the oldest first. */
  readonly pending: readonly PendingChange[];
  readonly history: History;
}

export function newSyncState(client: string, document: PageDocument, revision: number): SyncState {
  return { client, number: 0, document, revision, pending: [], history: NO_HISTORY };
}

/** A random client id. */
export function newClient(): string {
  return [...crypto.getRandomValues(new Uint32Array(4))].map((each) => each.toString(36)).join("-");
}

/** The revision that the document will be when all own changes are acknowledged. */
export function expectedRevision(synced: SyncState): number {
  return synced.revision + synced.pending.length;
}

/** A new change of this tab, and the state with it. */
export interface OwnChange {
  readonly synced: SyncState;
  readonly change: PendingChange;
}

export function makeChange(
  synced: SyncState,
  edits: readonly Edit[],
  label: string,
  merge?: string,
): OwnChange {
  return withOwnChange(synced, commit(synced.document, synced.history, edits, label, merge));
}

/** Undefined if there is nothing to undo. */
export function undoChange(synced: SyncState): OwnChange | undefined {
  const done = undo(synced.document, synced.history);
  return done && withOwnChange(synced, done);
}

export function redoChange(synced: SyncState): OwnChange | undefined {
  const done = redo(synced.document, synced.history);
  return done && withOwnChange(synced, done);
}

function withOwnChange(synced: SyncState, done: Transition): OwnChange {
  const number = synced.number + 1;
  const change = { number, label: done.label, edits: done.edits, inverse: done.inverse };
  const { document, history } = done;
  return { synced: { ...synced, number, document, history, pending: [...synced.pending, change] }, change };
}

/** The state after the server has acknowledged a pending change. */
export function acknowledged(synced: SyncState, number: number, revision: number): SyncState {
  const { document, pending } = synced;
  const change = pending.find((each) => each.number === number);
  const left = pending.filter((each) => each !== change);
  if (!change || change.inverse.length) return { ...synced, revision, pending: left };
  // It did not apply here after another tab's change, but did on the server.
  const base = apply(withoutPending(document, pending), change.edits).document;
  return { ...synced, revision, ...withPending(base, left) };
}

/** The state after a change of another tab; `undoable` is its label on the undo stack, if it may be undone here. */
export function applyForeign(
  synced: SyncState,
  edits: readonly Edit[],
  revision: number,
  undoable?: string,
): SyncState {
  const { document, pending } = rebase(synced.document, synced.pending, edits);
  const history = undoable === undefined ? synced.history : undoableForeign(synced, edits, undoable);
  return { ...synced, document, revision, pending, history };
}

function undoableForeign(synced: SyncState, edits: readonly Edit[], label: string): History {
  const inverse = tryApply(synced.document, edits)?.inverse;
  return inverse ? { undo: [...synced.history.undo, { label, edits: inverse }], redo: [] } : synced.history;
}

/** The state after the server has refused a change, which is undone; later ones stay. */
export function revertRefused(synced: SyncState, number: number): SyncState {
  const left = synced.pending.filter((each) => each.number !== number);
  return { ...synced, ...withPending(withoutPending(synced.document, synced.pending), left) };
}

/**
 * The state after a reconnect. Pending changes that the server had applied are in its document; the others are applied
 * to it, and are to be sent again.
 */
export function rebaseReopened(
  synced: SyncState,
  document: PageDocument,
  revision: number,
  applied: readonly number[] = [],
): SyncState {
  const left = synced.pending.filter(({ number }) => !applied.includes(number));
  return { ...synced, revision, ...withPending(document, left) };
}
