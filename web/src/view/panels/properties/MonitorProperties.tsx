import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { localizedTitle } from "../../../model/document.ts";
import { blockRects, boxRect, isOnPage } from "../../../model/geometry.ts";
import { type Graph, keyOf } from "../../../model/graph.ts";
import { dispatch } from "../../active-page.ts";
import { shownLabel } from "../../canvas/monitor-labels.ts";
import { useSettings } from "../../settings.ts";
import { Icon } from "../../shell/icons.tsx";
import { useStrings } from "../../strings.ts";
import { ui } from "../../ui.ts";
import { asText, ValidatedField } from "../../widgets/ValidatedField.tsx";
import { Section } from "./Section.tsx";

const MONITOR_SIZE = { width: 320, height: 200 };
const KINDS = ["number", "trend", "image", "histogram"] as const;

export function MonitorProperties({ graph, name }: { graph: Graph; name: string }): ReactElement {
  const t = useStrings();
  const language = useSettings((settings) => settings.language);
  const { document } = graph;
  const monitor = document.monitors?.[name];
  const outputs = [...graph.blocks.values()].flatMap((view) => view.outputs.map((pin) => keyOf(pin.ref)));
  if (monitor === undefined) return <p className="empty">{t.noPage}</p>;
  const limit = (field: "low" | "high" | "steps") => (
    <ValidatedField<number | null>
      label={t.limits[field]}
      value={monitor[field] ?? null}
      format={(value) => (value === null ? "" : String(value))}
      hint={t.automatic}
      read={(typed) => {
        if (typed.trim() === "") return { value: null };
        const number = Number(typed);
        return Number.isFinite(number) ? { value: number } : { error: t.aNumber };
      }}
      onChange={(value) => dispatch(actions.setMonitor(document, name, { [field]: value ?? undefined }))}
    />
  );
  return (
    <Section title={t.monitor}>
      <div className="rows">
        <label htmlFor="monitor-kind">{t.kind}</label>
        <select
          id="monitor-kind"
          className="field"
          value={monitor.kind}
          onChange={(event) => dispatch(actions.setMonitor(document, name, { kind: event.target.value }))}
        >
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {t.monitorKinds[kind]}
            </option>
          ))}
        </select>
        <span className="label">{t.title}</span>
        <ValidatedField
          label={t.title}
          value={localizedTitle(language, monitor, "")}
          {...asText}
          onChange={(title) => dispatch(actions.titleMonitor(document, name, title, language))}
        />
        <label htmlFor="monitor-place">{t.standsIn}</label>
        <select
          id="monitor-place"
          className="field"
          value={isOnPage(document, name) ? "page" : "panel"}
          onChange={(event) =>
            dispatch(
              actions.placeMonitor(
                document,
                name,
                event.target.value === "panel"
                  ? null
                  : ui.findFreeRect(boxRect(document, "monitors", name, blockRects(graph)), MONITOR_SIZE),
              ),
            )
          }
        >
          <option value="page">{t.onPage}</option>
          <option value="panel">{t.inPanel}</option>
        </select>
        <span className="label">{t.limits.low}</span>
        {limit("low")}
        <span className="label">{t.limits.high}</span>
        {limit("high")}
        {monitor.kind === "trend" && (
          <>
            <span className="label">{t.limits.steps}</span>
            {limit("steps")}
          </>
        )}
        <span className="label">{t.shows}</span>
        <span>
          {(monitor.shows ?? []).map((shown, i) => (
            <span className="wire-line" key={`${shown.pin} ${String(shown.element)}`}>
              <span className="mono">{shownLabel(shown)}</span>
              <button
                type="button"
                className="button icon plain"
                aria-label={t.clear(shownLabel(shown))}
                onClick={() =>
                  dispatch(
                    actions.setMonitor(document, name, {
                      shows: (monitor.shows ?? []).filter((_, at) => at !== i),
                    }),
                  )
                }
              >
                <Icon name="close" />
              </button>
            </span>
          ))}
          <select
            className="field"
            aria-label={t.showMore}
            value=""
            onChange={(event) => dispatch(actions.toggleShown(document, name, event.target.value))}
          >
            <option value="">{t.showMore}</option>
            {outputs.map((pin) => (
              <option key={pin}>{pin}</option>
            ))}
          </select>
        </span>
      </div>
    </Section>
  );
}
