/**
 * The document of one page, as this tab and the server change it. Own changes are shown at once and wait until the
 * server confirms them; changes of other tabs are put below those that wait.
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
  readonly document: PageDocument;
  /** The last revision of the server that is in the document. */
  readonly revision: number;
  /** Own changes that are not confirmed, the oldest first. */
  readonly pending: readonly Pending[];
  readonly history: History;
}

export function opened(document: PageDocument, revision: number): Synced {
  return { document, revision, pending: [], history: NO_HISTORY };
}

/** The revision that the document will be when all own changes are confirmed. */
export function revisionToCome(synced: Synced): number {
  return synced.revision + synced.pending.length;
}

/** A change of this tab, which is to be sent under its number. */
export interface Own {
  readonly synced: Synced;
  readonly change: Pending;
}

export function change(
  synced: Synced,
  number: number,
  edits: readonly Edit[],
  label: string,
  merge?: string,
): Own {
  return own(synced, number, commit(synced.document, synced.history, edits, label, merge));
}

/** Nothing if there is nothing to undo. */
export function undone(synced: Synced, number: number): Own | undefined {
  const done = undo(synced.document, synced.history);
  return done && own(synced, number, done);
}

export function redone(synced: Synced, number: number): Own | undefined {
  const done = redo(synced.document, synced.history);
  return done && own(synced, number, done);
}

function own(synced: Synced, number: number, done: Done): Own {
  const change = { number, label: done.label, edits: done.edits, inverse: done.inverse };
  const { document, history } = done;
  return { synced: { ...synced, document, history, pending: [...synced.pending, change] }, change };
}

/** The server has confirmed the oldest change that waited. */
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
  return { document, revision, pending, history };
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
 * The page was opened again after the connection was lost. Changes that had arrived before are recognised, because
 * the document is what they make of it; the others go on top of it, and `pending` is to be sent again.
 */
export function reopened(synced: Synced, document: PageDocument, revision: number): Synced {
  const wanted = JSON.stringify(document);
  let here = withoutPending(synced.document, synced.pending);
  let arrived = 0;
  for (const [place, each] of synced.pending.entries()) {
    here = attempt(here, each.edits)?.document ?? here;
    if (JSON.stringify(here) === wanted) arrived = place + 1;
  }
  return { ...synced, revision, ...withPending(document, synced.pending.slice(arrived)) };
}
