import { type KeyboardEvent, type ReactElement, useContext, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Monitor } from "../../model/document.ts";
import type { RunCurves } from "../../model/runs.ts";
import type { Series } from "../../net/generated.ts";
import { useRunsStrings, useStrings } from "../strings.ts";
import { TabIndex } from "../widgets/ValidatedField.tsx";
import { readColours } from "./colours.ts";
import { CURVE_COLOURS, curveLabels, formatNumber } from "./monitor-labels.ts";

const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const EARLIER_DASHES = [
  [5, 3],
  [2, 2],
  [8, 3, 2, 3],
  [12, 4],
];
const EARLIER_ALPHA = 0.6;

interface Props {
  monitor: Monitor;
  series: Series;
  /** Curves of other runs, drawn behind. */
  earlier?: readonly RunCurves[];
  /** The run of the curves, if it is to be told from others. */
  run?: number;
}

const NO_CURVES: readonly RunCurves[] = [];

/** A line chart of values over steps, which grows during a run, over the curves of earlier runs. */
export function Trend({ monitor, series, earlier = NO_CURVES, run }: Props): ReactElement {
  const ref = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const t = useStrings();
  const labels = curveLabels(monitor.shows ?? [], series, t);
  const names = labels.join("\n");
  // By run and place of its curves; a change makes the plot anew.
  const behind = earlier.map((each) => `${each.run} ${each.series.values?.length ?? 0}`).join("\n");
  const runs = useRunsStrings();
  const { low, high } = monitor;
  const [themed, setThemed] = useState(0);
  /** The step under the cursor; null if it is not on the chart. */
  const [pointed, setPointed] = useState<number | null>(null);
  const tabIndex = useContext(TabIndex);
  useEffect(() => {
    const watch = new MutationObserver(() => setThemed((n) => n + 1));
    watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => watch.disconnect();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new theme has other colours.
  useEffect(() => {
    const holder = ref.current;
    if (holder === null) return;
    const colours = readColours();
    const axis = {
      stroke: colours.inkSoft,
      grid: { stroke: colours.line, width: 1 },
      ticks: { show: false },
      font: `10px ${colours.mono}`,
    };
    const made = new uPlot(
      {
        width: Math.max(holder.clientWidth, 80),
        height: Math.max(holder.clientHeight, 60),
        legend: { show: false },
        cursor: { show: true, y: false },
        hooks: { setCursor: [({ cursor, data }) => setPointed(data[0][cursor.idx ?? -1] ?? null)] },
        scales: { x: { time: false }, y: { range: (_plot, least, most) => rangeOf(least, most, low, high) } },
        axes: [
          { ...axis, size: 22, gap: 2 },
          { ...axis, size: 48, gap: 2, values: (_plot, splits) => splits.map(formatNumber) },
        ],
        series: [
          {},
          ...names.split("\n").map((label, i) => ({
            label,
            stroke: colours[CURVE_COLOURS[i % CURVE_COLOURS.length] as "float"],
            width: 1.5,
            dash: DASHES[Math.floor(i / CURVE_COLOURS.length) % DASHES.length] as number[],
            points: { show: false },
          })),
          ...earlier.flatMap((each, run) =>
            (each.series.values ?? []).map((_, i) => ({
              label: runs.runNumber(each.run),
              stroke: colours[CURVE_COLOURS[i % CURVE_COLOURS.length] as "float"],
              width: 1,
              alpha: EARLIER_ALPHA,
              dash: EARLIER_DASHES[run % EARLIER_DASHES.length] as number[],
              points: { show: false },
            })),
          ),
        ],
      },
      [[]],
      holder,
    );
    plot.current = made;
    const watch = new ResizeObserver(() =>
      made.setSize({ width: Math.max(holder.clientWidth, 80), height: Math.max(holder.clientHeight, 60) }),
    );
    watch.observe(holder);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [names, behind, low, high, themed]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a plot that was made anew has no data yet.
  useEffect(() => {
    const tables = [series, ...earlier.map((each) => each.series)].map(
      ({ steps = [], values = [] }) => [steps, ...values] as uPlot.AlignedData,
    );
    plot.current?.setData(tables.length > 1 ? uPlot.join(tables) : (tables[0] as uPlot.AlignedData));
  }, [series, names, behind, low, high, themed]);
  const steps = series.steps ?? [];
  // With other runs behind it, the chart has more steps than the series.
  const found = pointed === null ? -1 : steps.findLastIndex((step) => step <= pointed);
  const at = found < 0 ? null : found;
  /** Moves the cursor to a point, for those who have no pointer. */
  function key(event: KeyboardEvent) {
    const last = steps.length - 1;
    const now = at ?? last;
    const places: Record<string, number> = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last };
    const place = places[event.key];
    const chart = plot.current;
    if (place === undefined || last < 0 || chart === null) return;
    event.preventDefault();
    event.stopPropagation();
    const step = steps[Math.max(0, Math.min(last, place))] as number;
    chart.setCursor({ left: chart.valToPos(step, "x"), top: 0 });
  }
  return (
    <div className="trend-box">
      <div
        ref={ref}
        className="trend"
        role="application"
        aria-label={t.trendOf(labels.join(", "))}
        tabIndex={tabIndex}
        onKeyDown={key}
        onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })}
      />
      <div className="keys" aria-live={at === null ? "off" : "polite"}>
        {at !== null && <span className="soft">{t.atStep(steps[at] as number, null)}</span>}
        {labels.map((label, i) => (
          <span key={label} className={`key ${CURVE_COLOURS[i % CURVE_COLOURS.length]}`}>
            {run !== undefined && `${runs.runNumber(run)} `}
            {label} <b>{formatNumber(series.values?.[i]?.at(at ?? -1))}</b>
          </span>
        ))}
        {earlier.map((each) => (
          <span key={each.run} className="key earlier">
            {runs.runNumber(each.run)} <b>{formatNumber(each.series.values?.[0]?.at(-1))}</b>
          </span>
        ))}
      </div>
    </div>
  );
}

function rangeOf(
  least: number | null,
  most: number | null,
  low?: number | null,
  high?: number | null,
): [number, number] {
  const [a, b] = [low ?? least ?? 0, high ?? most ?? 1];
  return a === b ? [a - 1, b + 1] : [a, low === undefined || high === undefined ? b + (b - a) * 0.04 : b];
}
