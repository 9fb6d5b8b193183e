/** Which text field has changes of its own that the browser can undo and redo. */

import type { FieldHistory } from "../state/keybindings.ts";

type TextField = HTMLInputElement | HTMLTextAreaElement;

/** The field that is being typed in, its text before that, and whether the browser has undone something in it. */
let field: TextField | null = null;
let before = "";
let undone = false;

function isTextField(target: EventTarget | null): target is TextField {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

/** Follows typing, until it is committed or left; returns the function that ends this. */
export function followFieldChanges(): () => void {
  const ending = new AbortController();
  const options = { capture: true, signal: ending.signal };
  const typing = ({ target }: Event) => {
    if (target === field || !isTextField(target)) return;
    [field, before, undone] = [target, target.value, false];
  };
  const typed = (event: Event) => {
    const { inputType = "" } = event as InputEvent;
    if (!inputType.startsWith("history")) undone = false;
    else if (inputType === "historyUndo") undone = true;
  };
  const committed = () => {
    field = null;
  };
  document.addEventListener("beforeinput", typing, options);
  document.addEventListener("input", typed, options);
  document.addEventListener("change", committed, options);
  document.addEventListener("focusout", committed, options);
  document.addEventListener(
    "keydown",
    ({ key, target }) => {
      if (key === "Enter" && target instanceof HTMLInputElement) committed();
    },
    options,
  );
  return () => ending.abort();
}

/** What the browser can undo and redo in a field. */
export function fieldHistory(target: EventTarget | null): FieldHistory {
  const typedIn = field !== null && target === field;
  return { undo: typedIn && field?.value !== before, redo: typedIn && undone };
}
