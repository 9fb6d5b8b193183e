/** Keeps the pages of this browser tab on the server, and opens them again after a reload or a restart. */

import type { TabState } from "../net/generated.ts";
import { type KeptHistory, studio, useStudio } from "../state/store.ts";
import { ui, useUi } from "./ui.ts";

const DELAY = 300;
const SESSION_KEY = "backblocks session";
const HISTORY_KEY = "backblocks history";

let timer: ReturnType<typeof setTimeout> | undefined;
/** What was sent last, and to which session of the server. */
let kept = "";

/** Notes that pages were opened, closed or moved, or that a viewport has changed. */
export function tabStateChanged(): void {
  timer ??= setTimeout(keep, DELAY);
}

function keep(): void {
  clearTimeout(timer);
  timer = undefined;
  const state = studio.tabState();
  const session = useStudio.getState().welcome?.session;
  if (state === undefined || session === undefined) return;
  const shown: TabState = useUi.getState().gallery ? { ...state, active: -1 } : state;
  const next = `${session} ${JSON.stringify(shown)}`;
  if (next === kept) return;
  kept = next;
  studio.keepTabState(shown);
}

/** Opens the pages that this tab had open, then the page of the command line. */
export async function restoreTabs(): Promise<void> {
  const { welcome } = useStudio.getState();
  if (welcome === null) return;
  const reload = isReload(welcome.session);
  if (welcome.tab) {
    await studio.restore(welcome.tab);
    if (reload) restoreHistories();
    if ((welcome.tab.active ?? -1) < 0) useUi.setState({ gallery: true });
  }
  if (welcome.start && !reload) await ui.openPage({ path: welcome.start });
  else studio.listFiles();
  kept = "";
  keep();
  useStudio.subscribe((now, before) => {
    if (now.pages !== before.pages || now.tabs !== before.tabs || now.active !== before.active)
      tabStateChanged();
    // Another tab may have taken over what the server had kept.
    if (now.welcome !== before.welcome) kept = "";
  });
  useUi.subscribe((now, before) => {
    if (now.gallery !== before.gallery) tabStateChanged();
  });
  window.addEventListener("pagehide", () => {
    keep();
    keepHistories();
  });
}

/** Keeps what can be undone, in this browser: it is of use to this tab alone. */
function keepHistories(): void {
  try {
    sessionStorage.setItem(HISTORY_KEY, JSON.stringify(studio.histories()));
  } catch {
    // It is too large. What is there is of an earlier revision, and not used.
  }
}

function restoreHistories(): void {
  try {
    const kept = JSON.parse(sessionStorage.getItem(HISTORY_KEY) ?? "{}") as Record<string, KeptHistory>;
    studio.restoreHistories(kept);
  } catch {
    // Without it nothing before the reload can be undone.
  }
}

/** Whether this tab was connected to the same session of the server before it was loaded. */
function isReload(session: string): boolean {
  try {
    const before = sessionStorage.getItem(SESSION_KEY);
    sessionStorage.setItem(SESSION_KEY, session);
    return before === session;
  } catch {
    return false;
  }
}
