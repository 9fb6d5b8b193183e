/** Keybindings: from keyboard events to commands, and key chords as text. */

import { type Command, type CommandId, commands } from "./commands.ts";

/** The fields of a keyboard event that determine the command. */
export interface KeyPress {
  readonly key: string;
  readonly code?: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
}

export const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

/** The key chord of an event, as in the command table. */
export function keyChord(event: KeyPress, mac = isMac): string {
  const mod = mac ? event.metaKey : event.ctrlKey;
  // Alt on a Mac and non-Latin keyboard layouts change letters: the physical key decides.
  const placed = /^Key([A-Z])$|^Digit(\d)$/.exec(event.code ?? "");
  const latin = /^[ -~]$/.test(event.key);
  const key =
    placed && (event.altKey || !latin) && event.key.length === 1
      ? (placed[1] ?? placed[2] ?? event.key)
      : event.key;
  const letter = key.length === 1 ? key.toUpperCase() : key;
  // Shift is part of a character such as "?".
  const shift = event.shiftKey && (key.length > 1 || /[A-Z]/.test(letter));
  return [mod && "Mod", event.altKey && "Alt", shift && "Shift", letter].filter(Boolean).join("+");
}

const commandByChord: ReadonlyMap<string, Command> = new Map(
  [...commands.values()].flatMap((command) => command.keys.map((keys) => [keys, command] as const)),
);

/** Whether a text field has changes of its own that the browser can undo or redo. */
export interface FieldHistory {
  readonly undo: boolean;
  readonly redo: boolean;
}

/** The command of a key press; in a text field (not null) only commands that are enabled there. */
export function commandFor(event: KeyPress, field: FieldHistory | null, mac = isMac): CommandId | undefined {
  const command = commandByChord.get(keyChord(event, mac));
  if (!command || command.native || (field && !worksIn(field, command))) return undefined;
  return command.id;
}

/** Whether a command works in a text field. Undo and redo do if the field has nothing to undo or redo itself. */
function worksIn(field: FieldHistory, { id, whileTyping }: Command): boolean {
  if (id === "undo") return !field.undo;
  if (id === "redo") return !field.undo && !field.redo;
  return whileTyping === true;
}

const MAC_SYMBOLS: Readonly<Record<string, string>> = {
  Mod: "⌘",
  Alt: "⌥",
  Shift: "⇧",
  Enter: "⏎",
  Backspace: "⌫",
  Delete: "⌦",
};

/** The text of a chord: Ctrl+K, or ⌘K on a Mac. */
export function chordText(keys: string, mac = isMac): string {
  const parts = keys === "+" ? ["+"] : keys.split("+");
  if (mac) return parts.map((part) => MAC_SYMBOLS[part] ?? arrow(part)).join("");
  return parts.map((part) => (part === "Mod" ? "Ctrl" : arrow(part))).join("+");
}

function arrow(part: string): string {
  return { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" }[part] ?? part;
}
