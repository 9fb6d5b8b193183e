/** Actions on the page as a whole: title, run settings, ports. */

import type { Action } from "./action.ts";
import type { Json, PageDocument, Port, RunSettings } from "./document.ts";
import { Draft } from "./draft.ts";
import { actionOf } from "./edit-blocks.ts";

export function setTitle(
  document: PageDocument,
  field: "title" | "about",
  text: string,
  language = "en",
): Action {
  const draft = new Draft(document);
  draft.putText([], field, text, language);
  return actionOf(draft, { kind: "title" });
}

/** Sets run settings; undefined, null and empty values remove one. */
export function setRun(
  document: PageDocument,
  change: { readonly [F in keyof RunSettings]?: RunSettings[F] | undefined },
): Action {
  const draft = new Draft(document);
  for (const [field, value] of Object.entries(change)) {
    if (value === undefined || value === null || value === "" || (Array.isArray(value) && !value.length))
      draft.remove(["run", field]);
    else draft.put(["run", field], value as Json);
  }
  return actionOf(draft, { kind: "run", name: Object.keys(change).join(", ") });
}

export function toggleFetch(document: PageDocument, pin: string): Action {
  return setRun(document, { fetch: toggled(document.run?.fetch ?? [], pin) });
}

export function toggleTarget(document: PageDocument, block: string): Action {
  return setRun(document, { targets: toggled(document.run?.targets ?? [], block) });
}

function toggled(list: readonly string[], name: string): string[] {
  return list.includes(name) ? list.filter((each) => each !== name) : [...list, name];
}

/** Sets the feed of a placeholder. */
export function setFeed(document: PageDocument, placeholder: string, value: Json | undefined): Action {
  const draft = new Draft(document);
  if (value === undefined) draft.remove(["run", "feeds", placeholder]);
  else draft.put(["run", "feeds", placeholder], value);
  return actionOf(draft, { kind: "run", name: placeholder });
}

/** Sets a port of the page; undefined removes it. */
export function setPort(
  document: PageDocument,
  side: "inputs" | "outputs",
  name: string,
  port: Port | undefined,
): Action {
  const draft = new Draft(document);
  if (port) draft.put(["ports", side, name], port);
  else draft.remove(["ports", side, name]);
  return actionOf(draft, { kind: "port", name });
}
