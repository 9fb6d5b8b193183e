import type { ReactElement } from "react";
import { item } from "../../model/action.ts";
import { localizedTitle } from "../../model/document.ts";
import { isOnPage } from "../../model/geometry.ts";
import type { PageState } from "../../state/store.ts";
import { select } from "../active-page.ts";
import { PageNumber } from "../canvas/context.ts";
import { MonitorBody } from "../canvas/Monitor.tsx";
import { useSettings } from "../settings.ts";
import { useStrings } from "../strings.ts";
import { ui } from "../ui.ts";

/** The monitors that stand in the panel, and where those on the page are. */
export function Monitors({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const language = useSettings((settings) => settings.language);
  const { document } = page;
  const monitors = Object.entries(document.monitors ?? {});
  const here = monitors.filter(([name]) => !isOnPage(document, name));
  const onPage = monitors.filter(([name]) => isOnPage(document, name));
  if (monitors.length === 0) return <p className="empty">{t.noMonitors}</p>;
  return (
    <PageNumber.Provider value={page.page}>
      <div className="monitor-strip">
        {here.map(([name, monitor]) => (
          <section key={name} aria-label={localizedTitle(language, monitor, name)}>
            <button
              type="button"
              className="button plain monitor-title"
              onClick={() => select(new Set([item("monitor", name)]))}
            >
              {localizedTitle(language, monitor, name)}
            </button>
            <div className="monitor-body">
              <MonitorBody name={name} monitor={monitor} />
            </div>
          </section>
        ))}
        {onPage.length > 0 && (
          <div className="monitors-on-page">
            <h3>{t.onPage}</h3>
            {onPage.map(([name, monitor]) => (
              <button
                key={name}
                type="button"
                className="button"
                onClick={() => ui.reveal(item("monitor", name))}
              >
                {localizedTitle(language, monitor, name)}
              </button>
            ))}
          </div>
        )}
      </div>
    </PageNumber.Provider>
  );
}
