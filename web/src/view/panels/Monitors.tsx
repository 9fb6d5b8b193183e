import type { ReactElement } from "react";
import { item } from "../../model/action.ts";
import { localizedTitle } from "../../model/document.ts";
import type { PageState } from "../../state/store.ts";
import { PageNumber } from "../canvas/context.ts";
import { MonitorBody } from "../canvas/Monitor.tsx";
import { useSettings } from "../settings.ts";
import { useStrings } from "../strings.ts";
import { ui } from "../ui.ts";

/** All monitors of the page side by side. */
export function Monitors({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const language = useSettings((settings) => settings.language);
  const monitors = Object.entries(page.document.monitors ?? {});
  if (monitors.length === 0) return <p className="empty">{t.noMonitors}</p>;
  return (
    <PageNumber.Provider value={page.page}>
      <div className="monitor-strip">
        {monitors.map(([name, monitor]) => (
          <section key={name} aria-label={localizedTitle(language, monitor, name)}>
            <button
              type="button"
              className="button plain monitor-title"
              onClick={() => ui.reveal(item("monitor", name))}
            >
              {localizedTitle(language, monitor, name)}
            </button>
            <div className="monitor-body">
              <MonitorBody name={name} monitor={monitor} />
            </div>
          </section>
        ))}
      </div>
    </PageNumber.Provider>
  );
}
