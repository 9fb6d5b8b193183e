/** Undo and redo. A step holds the edits that lead back from it; undoing is a change like any other. */

import { apply, type Edit, EditError, type PageDocument } from "./document.ts";

export interface Step {
  readonly label: string;
  readonly edits: readonly Edit[];
  /** Steps with the same mark, one after the other, are one: a drag, or typing in one field. */
  readonly merge?: string;
}

export interface History {
  /** The newest is last. */
  readonly undo: readonly Step[];
  readonly redo: readonly Step[];
}

export const NO_HISTORY: History = { undo: [], redo: [] };

const MOST_STEPS = 1000;

/** What a change did: the new document, the history after it, and the edits that were applied. */
export interface Done {
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
): Done {
  const applied = apply(document, edits);
  const last = history.undo.at(-1);
  const joined = merge !== undefined && last?.merge === merge && history.redo.length === 0;
  const back = joined ? together(applied.inverse, last.edits) : applied.inverse;
  const step: Step = merge === undefined ? { label, edits: back } : { label, edits: back, merge };
  const undo = [...(joined ? history.undo.slice(0, -1) : history.undo), step].slice(-MOST_STEPS);
  return { document: applied.document, history: { undo, redo: [] }, edits, inverse: applied.inverse, label };
}

/** Both lists as one. Of values put at the same places, only those of the second list matter. */
function together(first: readonly Edit[], second: readonly Edit[]): readonly Edit[] {
  const plain = (edit: Edit): boolean => edit.value !== undefined && edit.before === undefined;
  const places = new Set(second.map((edit) => JSON.stringify(edit.path)));
  const covered =
    [...first, ...second].every(plain) && first.every((edit) => places.has(JSON.stringify(edit.path)));
  return covered ? second : [...first, ...second];
}

/** Ends a merged step: what comes next is a step of its own. */
export function closed(history: History): History {
  const last = history.undo.at(-1);
  if (last?.merge === undefined) return history;
  return { ...history, undo: [...history.undo.slice(0, -1), { label: last.label, edits: last.edits }] };
}

/**
 * Takes back the last step. Steps that no longer fit, because another tab took away what they changed, are passed
 * over. Nothing if there is no step left.
 */
export function undo(document: PageDocument, history: History): Done | undefined {
  return moved(document, history.undo, (left, step) => ({ undo: left, redo: [...history.redo, step] }));
}

export function redo(document: PageDocument, history: History): Done | undefined {
  return moved(document, history.redo, (left, step) => ({ undo: [...history.undo, step], redo: left }));
}

function moved(
  document: PageDocument,
  from: readonly Step[],
  after: (left: readonly Step[], step: Step) => History,
): Done | undefined {
  for (let place = from.length - 1; place >= 0; place--) {
    const { label, edits } = from[place] as Step;
    const applied = attempt(document, edits);
    if (!applied) continue;
    const history = after(from.slice(0, place), { label, edits: applied.inverse });
    return { document: applied.document, history, edits, inverse: applied.inverse, label };
  }
  return undefined;
}

/** As `apply`; nothing if the edits do not fit. */
export function attempt(
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

/** A change of this tab that the server has not confirmed yet. */
export interface Pending {
  readonly number: number;
  readonly label: string;
  readonly edits: readonly Edit[];
  /** Empty if it does not fit what other tabs did. It may fit again, and the server has the last word. */
  readonly inverse: readonly Edit[];
}

export interface Rebased {
  readonly document: PageDocument;
  readonly pending: readonly Pending[];
}

/** The document as it was before the changes that wait. */
export function withoutPending(document: PageDocument, pending: readonly Pending[]): PageDocument {
  return pending.reduceRight((here, each) => apply(here, each.inverse).document, document);
}

/** The changes that wait on top of a document. */
export function withPending(document: PageDocument, changes: readonly Pending[]): Rebased {
  let here = document;
  const pending = changes.map((each) => {
    const applied = attempt(here, each.edits);
    here = applied?.document ?? here;
    return { ...each, inverse: applied?.inverse ?? [] };
  });
  return { document: here, pending };
}

/** Puts a foreign change below the own ones that are not confirmed: takes them back, applies it, applies them again. */
export function rebase(
  document: PageDocument,
  pending: readonly Pending[],
  foreign: readonly Edit[],
): Rebased {
  return withPending(apply(withoutPending(document, pending), foreign).document, pending);
}
