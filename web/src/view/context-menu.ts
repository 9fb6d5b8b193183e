/** The context menu of the canvas, and menus made of commands. */

import type { Point } from "../model/geometry.ts";
import { type CommandId, commands, isEnabled } from "../state/commands.ts";
import { chordText } from "../state/keybindings.ts";
import { coreStrings } from "../text/index.ts";
import { type Hit, itemOfHit } from "./canvas/stage.ts";
import { useSettings } from "./settings.ts";
import type { MenuItem } from "./shell/Menu.tsx";
import { strings } from "./strings.ts";
import { ui } from "./ui.ts";

const SEPARATOR = "line";
type Entry = CommandId | typeof SEPARATOR;

const AT_BLOCK: readonly Entry[] = [
  "run here",
  "target",
  "explain",
  "inspector",
  "docs",
  SEPARATOR,
  "fix",
  "connect",
  "disconnect",
  "gradient",
  "gradients",
  "monitor",
  SEPARATOR,
  "cut",
  "copy",
  "paste",
  "duplicate",
  "rename",
  "replace",
  "edit constant",
  "constants",
  "heal",
  "remove",
  SEPARATOR,
  "select upstream",
  "select downstream",
  "select connected",
  SEPARATOR,
  "frame",
  "extract",
  "port",
  "tidy",
  "align left",
  "align top",
  "distribute across",
  "distribute down",
];
const AT_WIRE: readonly Entry[] = ["disconnect", "remove"];
const AT_BOX: readonly Entry[] = ["properties", SEPARATOR, "cut", "copy", "duplicate", "remove"];
const ON_CANVAS: readonly Entry[] = [
  "search",
  "note",
  "import files",
  "use page",
  SEPARATOR,
  "paste",
  "paste with wires",
  "select all",
  SEPARATOR,
  "undo",
  "redo",
  SEPARATOR,
  "tidy",
  "zoom all",
  "zoom one",
  "find",
  SEPARATOR,
  "run",
  "export",
  "help",
];

export function commandItems(entries: readonly Entry[]): MenuItem[] {
  const names = coreStrings[useSettings.getState().language].commands;
  const items: MenuItem[] = [];
  let line = false;
  for (const entry of entries) {
    if (entry === SEPARATOR) line = items.length > 0;
    else {
      const keys = commands.get(entry)?.keys[0];
      items.push({
        id: entry,
        label: names[entry],
        keys: keys === undefined ? undefined : chordText(keys),
        disabled: !isEnabled(entry),
        line,
        run: () => ui.run(entry),
      });
      line = false;
    }
  }
  return items;
}

export function openContextMenu(at: Point, place: Point, hit: Hit): void {
  const t = strings();
  const chosen = itemOfHit(hit);
  if (hit.kind === "wire" || hit.kind === "bend") {
    const insert: MenuItem = {
      id: "insert",
      label: t.insertBlock,
      run: () => ui.openSearch({ at, place, wire: hit.wire }),
    };
    ui.openMenu(t.contextMenu, at, [insert, ...commandItems(AT_WIRE)]);
  } else if (chosen === null) {
    const items = commandItems(ON_CANVAS);
    const search = items[0] as MenuItem;
    ui.openMenu(t.contextMenu, at, [
      { ...search, run: () => ui.openSearch({ at, place }) },
      ...items.slice(1),
    ]);
  } else
    ui.openMenu(
      t.contextMenu,
      at,
      commandItems(hit.kind === "box" ? AT_BOX : AT_BLOCK).filter((each) => !each.disabled),
    );
}
