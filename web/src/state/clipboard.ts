/** Copying and pasting what is selected, as text. */

import { copyText, laidOut, type Pasting, paste, readClip } from "../model/clipboard.ts";
import { texts } from "../text/index.ts";
import { type PageState, studio } from "./store.ts";

export function copySelection({ document, selection, places }: PageState): string {
  return copyText(document, selection, places);
}

/** Adds the blocks that a text holds, and selects them. Says so if it holds none. */
export function pasteText(page: number, text: string, how: Pasting = {}): boolean {
  const now = studio.page(page);
  const clip = readClip(text);
  if (!now || !clip) {
    if (now) studio.notice("info", texts[studio.language].notices.notAPage);
    return false;
  }
  const adding = paste(now.document, laidOut(clip, now.graph.ops), how);
  studio.act(page, adding);
  studio.select(page, adding.added);
  return true;
}
