import { createRoot } from "react-dom/client";
import "./view/style/tokens.css";
import "./view/style/base.css";
import "./view/style/shell.css";
import "./view/style/panels.css";
import "./view/style/tensors.css";
import "./view/style/inspector.css";
import "./view/style/explain.css";
import "./view/style/widgets.css";
import "./view/style/search.css";
import "./view/style/gallery.css";
import "./view/style/dialogs.css";
import "./view/style/runs.css";
import type { Palette } from "./model/generated.ts";
import { authenticate } from "./net/client.ts";
import { retryLoad } from "./net/retry.ts";
import { studio, useStudio } from "./state/store.ts";
import { App } from "./view/App.tsx";
import { useSettings } from "./view/settings.ts";
import { restoreTabs } from "./view/tab-state.ts";

/** Loads the op registry; pages are drawn before and redrawn with it. */
async function loadOps(): Promise<void> {
  const { ops } = await retryLoad(async () => (await (await fetch("./ops.json")).json()) as Palette);
  studio.setOps(ops);
}

/** Opens the pages of this tab once, after the server's welcome. */
function openStart(): void {
  const stop = useStudio.subscribe(({ welcome }) => {
    if (welcome === null) return;
    stop();
    void restoreTabs();
  });
}

studio.settings = useSettings.getState;
createRoot(document.getElementById("studio") as HTMLElement).render(<App />);
void loadOps();
openStart();
void authenticate().then(() => studio.start());
// A change of the fragment alone reloads nothing: a restarted server's address differs only in its token.
window.addEventListener("hashchange", () => void authenticate().then(() => studio.retry()));
