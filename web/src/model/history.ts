/** The undo stack, and rebasing of pending changes. A step holds inverse edits; undoing is a change like any other. */

import { apply, type Edit, EditError, type PageDocument } from "./document.ts";

export interface UndoStep {
  readonly label: string;
  readonly edits: readonly Edit[];
  /** Consecutive steps with the same key are one: a drag, or typing in one field. */
  readonly merge?: string;
}

export interface History {
  /** The newest is last. */
  readonly undo: readonly UndoStep[];
  readonly redo: readonly UndoStep[];
}

export const NO_HISTORY: History = { undo: [], redo: [] };

const MAX_STEPS = 1000;

/** The result of a change: the new document and history, the applied edits and their inverse. */
export interface Transition {
  readonly document: PageDocument;
  readonly history: History;
  readonly edits: readonly Edit[];
  readonly inverse: readonly Edit[];
  readonly label: string;
}

export function commit(
  document: PageDocument,
  history: History,
  edits: readonly Edit[],
  label: string,
  merge?: string,
): Transition {
  const applied = apply(document, edits);
  const last = history.undo.at(-1);
  const joined = merge !== undefined && last?.merge === merge && history.redo.length === 0;
  const back = joined ? mergeInverses(applied.inverse, last.edits) : applied.inverse;
  const step: UndoStep = merge === undefined ? { label, edits: back } : { label, edits: back, merge };
  const undo = [...(joined ? history.undo.slice(0, -1) : history.undo), step].slice(-MAX_STEPS);
  return { document: applied.document, history: { undo, redo: [] }, edits, inverse: applied.inverse, label };
}

/** The inverse edits of a merged step: those of the first change are enough if both set the same paths. */
function mergeInverses(first: readonly Edit[], second: readonly Edit[]): readonly Edit[] {
  const plain = (edit: Edit): boolean => edit.value !== undefined && edit.before === undefined;
  const places = new Set(second.map((edit) => JSON.stringify(edit.path)));
  const covered =
    [...first, ...second].every(plain) && first.every((edit) => places.has(JSON.stringify(edit.path)));
  return covered ? second : [...first, ...second];
}

/** Ends a merged step: the next change is a step of its own. */
export function endMergedStep(history: History): History {
  const last = history.undo.at(-1);
  if (last?.merge === undefined) return history;
  return { ...history, undo: [...history.undo.slice(0, -1), { label: last.label, edits: last.edits }] };
}

/**
 * Undoes the last step. Steps that no longer apply, because another tab removed what they changed, are skipped.
 * Undefined if there is no step left.
 */
export function undo(document: PageDocument, history: History): Transition | undefined {
  return replay(document, history.undo, (left, step) => ({ undo: left, redo: [...history.redo, step] }));
}

export function redo(document: PageDocument, history: History): Transition | undefined {
  return replay(document, history.redo, (left, step) => ({ undo: [...history.undo, step], redo: left }));
}

function replay(
  document: PageDocument,
  from: readonly UndoStep[],
  after: (left: readonly UndoStep[], step: UndoStep) => History,
): Transition | undefined {
  for (let place = from.length - 1; place >= 0; place--) {
    const { label, edits } = from[place] as UndoStep;
    const applied = tryApply(document, edits);
    if (!applied) continue;
    const history = after(from.slice(0, place), { label, edits: applied.inverse });
    return { document: applied.document, history, edits, inverse: applied.inverse, label };
  }
  return undefined;
}

/** As `apply`; undefined if the edits do not apply. */
export function tryApply(
  document: PageDocument,
  edits: readonly Edit[],
): ReturnType<typeof apply> | undefined {
  try {
    return apply(document, edits);
  } catch (error) {
    if (error instanceof EditError) return undefined;
    throw error;
  }
}

// -- changes of other tabs ----------------------------------------------------------------------

/** A change of this tab that the server has not acknowledged yet. */
export interface PendingChange {
  readonly number: number;
  readonly label: string;
  readonly edits: readonly Edit[];
  /** Empty if it does not apply after changes of other tabs. It may apply again, and the server decides. */
  readonly inverse: readonly Edit[];
}

export interface Rebased {
  readonly document: PageDocument;
  readonly pending: readonly PendingChange[];
}

/** The document without the pending changes. */
export function withoutPending(document: PageDocument, pending: readonly PendingChange[]): PageDocument {
  return pending.reduceRight((here, each) => apply(here, each.inverse).document, document);
}

/** Applies pending changes to a document. */
export function withPending(document: PageDocument, changes: readonly PendingChange[]): Rebased {
  let here = document;
  const pending = changes.map((each) => {
    const applied = tryApply(here, each.edits);
    here = applied?.document ?? here;
    return { ...each, inverse: applied?.inverse ?? [] };
  });
  return { document: here, pending };
}

/** Rebases pending changes onto a foreign change: undoes them, applies it, applies them again. */
export function rebase(
  document: PageDocument,
  pending: readonly PendingChange[],
  foreign: readonly Edit[],
): Rebased {
  return withPending(apply(withoutPending(document, pending), foreign).document, pending);
}
