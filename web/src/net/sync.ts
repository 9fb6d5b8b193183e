/**
 * The document of one page, as this tab and the server change it: optimistic updates. Own changes are shown at once
 * and are pending until the server acknowledges them; changes of other tabs are rebased below them.
 */

import { apply, type Edit, type PageDocument } from "../model/document.ts";
import {
  attempt,
  commit,
  type Done,
  type History,
  NO_HISTORY,
  type Pending,
  rebase,
  redo,
  undo,
  withoutPending,
  withPending,
} from "../model/history.ts";

export interface Synced {
  /** Names this tab's own changes of the page: the server knows them by client and number. */
  readonly client: string;
  /** Of the last own change. */
  readonly number: number;
  readonly document: PageDocument;
  /** The last revision of the server that is in the document. */
  readonly revision: number;
  /** Own changes that are not acknowledged, the oldest first. */
  readonly pending: readonly Pending[];
  readonly history: History;
}

export function opened(client: string, document: PageDocument, revision: number): Synced {
  return { client, number: 0, document, revision, pending: [], history: NO_HISTORY };
}

/** A name that no other client has. */
export function newClient(): string {
  return [...crypto.getRandomValues(new Uint32Array(4))].map((each) => each.toString(36)).join("-");
}

/** The revision that the document will be when all own changes are acknowledged. */
export function revisionToCome(synced: Synced): number {
  return synced.revision + synced.pending.length;
}

/** A change of this tab, which is to be sent under its number, and what is synced with it. */
export interface Own {
  readonly synced: Synced;
  readonly change: Pending;
}

export function change(synced: Synced, edits: readonly Edit[], label: string, merge?: string): Own {
  return own(synced, commit(synced.document, synced.history, edits, label, merge));
}

/** Nothing if there is nothing to undo. */
export function undone(synced: Synced): Own | undefined {
  const done = undo(synced.document, synced.history);
  return done && own(synced, done);
}

export function redone(synced: Synced): Own | undefined {
  const done = redo(synced.document, synced.history);
  return done && own(synced, done);
}

function own(synced: Synced, done: Done): Own {
  const number = synced.number + 1;
  const change = { number, label: done.label, edits: done.edits, inverse: done.inverse };
  const { document, history } = done;
  return { synced: { ...synced, number, document, history, pending: [...synced.pending, change] }, change };
}

/** The server has acknowledged the oldest change that waited. */
export function confirmed(synced: Synced, number: number, revision: number): Synced {
  const { document, pending } = synced;
  const change = pending.find((each) => each.number === number);
  const left = pending.filter((each) => each !== change);
  if (!change || change.inverse.length) return { ...synced, revision, pending: left };
  // It did not fit here when another tab's change came, and did there, later.
  const base = apply(withoutPending(document, pending), change.edits).document;
  return { ...synced, revision, ...withPending(base, left) };
}

/** Another tab has changed the page. With `undoable` this tab can take it back. */
export function changedByOther(
  synced: Synced,
  edits: readonly Edit[],
  revision: number,
  undoable?: string,
): Synced {
  const { document, pending } = rebase(synced.document, synced.pending, edits);
  const history = undoable === undefined ? synced.history : withForeign(synced, edits, undoable);
  return { ...synced, document, revision, pending, history };
}

function withForeign(synced: Synced, edits: readonly Edit[], label: string): History {
  const inverse = attempt(synced.document, edits)?.inverse;
  return inverse ? { undo: [...synced.history.undo, { label, edits: inverse }], redo: [] } : synced.history;
}

/** The server did not take a change: it is taken back, and those after it stay. */
export function refused(synced: Synced, number: number): Synced {
  const left = synced.pending.filter((each) => each.number !== number);
  return { ...synced, ...withPending(withoutPending(synced.document, synced.pending), left) };
}

/**
 * The page was opened again after the connection was lost. Pending changes that the server had applied by then are
 * in its document; the others go on top of it, and are to be sent again.
 */
export function reopened(
  synced: Synced,
  document: PageDocument,
  revision: number,
  applied: readonly number[] = [],
): Synced {
  const left = synced.pending.filter(({ number }) => !applied.includes(number));
  return { ...synced, revision, ...withPending(document, left) };
}
