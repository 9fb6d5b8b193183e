/** User actions: edits of the document with a label for the undo stack, and the items that can be selected. */

import type { Edit } from "./document.ts";

/** The kind of an action, which the dictionaries name. */
export type LabelKind =
  | "add block"
  | "remove"
  | "rename"
  | "connect"
  | "disconnect"
  | "insert"
  | "bend"
  | "set"
  | "unset"
  | "about"
  | "order"
  | "move"
  | "resize"
  | "align"
  | "distribute"
  | "tidy"
  | "add frame"
  | "frame"
  | "add note"
  | "note"
  | "add monitor"
  | "monitor"
  | "paste"
  | "duplicate"
  | "gradient"
  | "gradients"
  | "extract"
  | "fix"
  | "run"
  | "port"
  | "title"
  | "revert"
  | "restore";

export interface Label {
  readonly kind: LabelKind;
  /** The block, pin or setting that the action is about. */
  readonly name?: string;
  readonly count?: number;
}

export interface Action {
  readonly label: Label;
  readonly edits: readonly Edit[];
}

/** An action that adds items, with these items. */
export interface AddAction extends Action {
  readonly added: readonly Item[];
}

/** The id of a selectable item: its kind and name, as in "block/pool". */
export type Item = `${ItemKind}/${string}`;
export type ItemKind = "block" | "frame" | "note" | "monitor" | "wire";

export function item(kind: ItemKind, name: string): Item {
  return `${kind}/${name}`;
}

export function parseItem(text: Item): { kind: ItemKind; name: string } {
  const slash = text.indexOf("/");
  return { kind: text.slice(0, slash) as ItemKind, name: text.slice(slash + 1) };
}

export function namesOf(items: Iterable<Item>, kind: ItemKind): string[] {
  const names: string[] = [];
  for (const each of items) {
    const found = parseItem(each);
    if (found.kind === kind) names.push(found.name);
  }
  return names;
}
