import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { titleIn } from "../../../model/document.ts";
import { type Graph, keyOf } from "../../../model/graph.ts";
import { dispatch } from "../../active-page.ts";
import { shownLabel } from "../../canvas/monitor-labels.ts";
import { useSettings } from "../../settings.ts";
import { Icon } from "../../shell/icons.tsx";
import { asText, ValidatedField } from "../../widgets/ValidatedField.tsx";
import { useWords } from "../../words.ts";
import { Section } from "./Section.tsx";

const KINDS = ["number", "trend", "image", "histogram"] as const;

export function MonitorProperties({ graph, name }: { graph: Graph; name: string }): ReactElement {
  const w = useWords();
  const language = useSettings((settings) => settings.language);
  const { document } = graph;
  const monitor = document.monitors?.[name];
  const outputs = [...graph.blocks.values()].flatMap((view) => view.outputs.map((pin) => keyOf(pin.ref)));
  if (monitor === undefined) return <p className="empty">{w.noPage}</p>;
  const limit = (field: "low" | "high" | "steps") => (
    <ValidatedField<number | null>
      label={w.limits[field]}
      value={monitor[field] ?? null}
      format={(value) => (value === null ? "" : String(value))}
      hint={w.found}
      read={(typed) => {
        if (typed.trim() === "") return { value: null };
        const number = Number(typed);
        return Number.isFinite(number) ? { value: number } : { error: w.aNumber };
      }}
      onChange={(value) => dispatch(actions.setMonitor(document, name, { [field]: value ?? undefined }))}
    />
  );
  return (
    <Section title={w.monitor}>
      <div className="rows">
        <label htmlFor="monitor-kind">{w.kind}</label>
        <select
          id="monitor-kind"
          className="field"
          value={monitor.kind}
          onChange={(event) => dispatch(actions.setMonitor(document, name, { kind: event.target.value }))}
        >
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {w.monitorKinds[kind]}
            </option>
          ))}
        </select>
        <span className="label">{w.title}</span>
        <ValidatedField
          label={w.title}
          value={titleIn(language, monitor, "")}
          {...asText}
          onChange={(title) => dispatch(actions.titleMonitor(document, name, title, language))}
        />
        <span className="label">{w.limits.low}</span>
        {limit("low")}
        <span className="label">{w.limits.high}</span>
        {limit("high")}
        {monitor.kind === "trend" && (
          <>
            <span className="label">{w.limits.steps}</span>
            {limit("steps")}
          </>
        )}
        <span className="label">{w.shows}</span>
        <span>
          {(monitor.shows ?? []).map((shown, i) => (
            <span className="wire-line" key={`${shown.pin} ${String(shown.element)}`}>
              <span className="mono">{shownLabel(shown)}</span>
              <button
                type="button"
                className="button icon plain"
                aria-label={w.clear(shownLabel(shown))}
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
            aria-label={w.showMore}
            value=""
            onChange={(event) => dispatch(actions.toggleShown(document, name, event.target.value))}
          >
            <option value="">{w.showMore}</option>
            {outputs.map((pin) => (
              <option key={pin}>{pin}</option>
            ))}
          </select>
        </span>
      </div>
    </Section>
  );
}
