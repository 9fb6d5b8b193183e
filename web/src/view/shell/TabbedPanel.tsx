import type { KeyboardEvent, ReactElement, ReactNode } from "react";
import { useStrings } from "../strings.ts";
import { Icon } from "./icons.tsx";

export interface Tab<Name extends string> {
  name: Name;
  label: string;
  count?: number;
  bad?: boolean;
  show(): ReactNode;
  /** The toolbar at the right of the tabs. */
  tools?(): ReactNode;
}

interface Props<Name extends string> {
  id: string;
  label: string;
  tabs: Tab<Name>[];
  current: Name;
  onTab(name: Name): void;
  onFold(): void;
  className: string;
  size: { width?: number; height?: number };
}

/** A panel with tabs. */
export function TabbedPanel<Name extends string>({
  id,
  label,
  tabs,
  current,
  onTab,
  onFold,
  className,
  size,
}: Props<Name>): ReactElement {
  const t = useStrings();
  const shown = tabs.find((tab) => tab.name === current) ?? tabs[0];
  function key(event: KeyboardEvent, place: number) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = tabs[(place + step + tabs.length) % tabs.length] as Tab<Name>;
    onTab(next.name);
    requestAnimationFrame(() => document.getElementById(`tab-${next.name}`)?.focus());
  }
  return (
    <section id={id} className={`panel ${className}`} aria-label={label} style={size}>
      <div className="panel-tabs">
        <div role="tablist" aria-label={label}>
          {tabs.map((tab, place) => (
            <button
              key={tab.name}
              type="button"
              role="tab"
              id={`tab-${tab.name}`}
              className="panel-tab"
              aria-selected={tab.name === shown?.name}
              aria-controls={`${id}-body`}
              tabIndex={tab.name === shown?.name ? 0 : -1}
              onClick={() => onTab(tab.name)}
              onKeyDown={(event) => key(event, place)}
            >
              {tab.label}
              {tab.count !== undefined && tab.count > 0 && (
                <span className={tab.bad ? "count bad" : "count"}>{tab.count}</span>
              )}
            </button>
          ))}
        </div>
        <span className="panel-tools">{shown?.tools?.()}</span>
        <button
          type="button"
          className="button plain icon fold"
          aria-label={t.collapse(label)}
          title={t.collapse(label)}
          onClick={onFold}
        >
          <Icon name={className === "left" ? "left" : className === "right" ? "right" : "down"} />
        </button>
      </div>
      <div
        className="panel-body"
        id={`${id}-body`}
        role="tabpanel"
        aria-labelledby={`tab-${shown?.name}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys.
        tabIndex={0}
      >
        {shown?.show()}
      </div>
    </section>
  );
}
