/** Copies and pastes the selection as text. */

import { copyText, type PasteOptions, parseClip, paste, withLayout } from "../model/clipboard.ts";
import { coreStrings } from "../text/index.ts";
import { type PageState, studio } from "./store.ts";

export function copySelection({ document, selection, places }: PageState): string {
  return copyText(document, selection, places);
}

/** Pastes the blocks of a text and selects them; a notice says if it has none. */
export function pasteText(page: number, text: string, how: PasteOptions = {}): boolean {
  const now = studio.page(page);
  const clip = parseClip(text);
  if (!now || !clip) {
    if (now) studio.notice("info", coreStrings[studio.language].notices.notAPage);
    return false;
  }
  const adding = paste(now.document, withLayout(clip, now.graph.ops), how);
  studio.dispatch(page, adding);
  studio.select(page, adding.added);
  return true;
}
