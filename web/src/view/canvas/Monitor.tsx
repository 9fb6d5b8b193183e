import type { Node, NodeProps } from "@xyflow/react";
import { memo, type ReactElement, useContext, useEffect, useRef, useState } from "react";
import { localizedTitle, type Monitor as MonitorFile, type MonitorSource } from "../../model/document.ts";
import { earlierCurves, NO_RUNS, NO_RUNS_VIEW, type RunCurves } from "../../model/runs.ts";
import type { Series } from "../../net/generated.ts";
import { live } from "../../state/live.ts";
import { useStudio } from "../../state/store.ts";
import { Trend } from "../lazy.tsx";
import { useSettings } from "../settings.ts";
import { useStrings } from "../strings.ts";
import { TabIndex } from "../widgets/ValidatedField.tsx";
import { bytesOf, renderColours, scaleFor } from "./colourmap.ts";
import { PageNumber } from "./context.ts";
import { CURVE_COLOURS, curveLabels, formatNumber, shownLabel } from "./monitor-labels.ts";
import { planeText, planeTitle } from "./plane-text.ts";

export interface MonitorData extends Record<string, unknown> {
  name: string;
  monitor: MonitorFile;
  selected: boolean;
}

export type MonitorNode = Node<MonitorData, "monitor">;

export const Monitor = memo(function Monitor({ data }: NodeProps<MonitorNode>): ReactElement {
  const language = useSettings((settings) => settings.language);
  const title = localizedTitle(language, data.monitor, data.name);
  return (
    <section className={data.selected ? "monitor selected" : "monitor"} aria-label={title}>
      <div className="monitor-title">{title}</div>
      <div className="monitor-body">
        <TabIndex.Provider value={-1}>
          <MonitorBody name={data.name} monitor={data.monitor} />
        </TabIndex.Provider>
      </div>
      <span className="resize-corner" aria-hidden="true" />
    </section>
  );
});

/** The content of a monitor, on the canvas and in the bottom panel. */
export function MonitorBody({ name, monitor }: { name: string; monitor: MonitorFile }): ReactElement {
  const t = useStrings();
  const page = useContext(PageNumber);
  const [series, setSeries] = useState<Series | undefined>(() => live(page).series(name));
  useEffect(() => {
    setSeries(live(page).series(name));
    return live(page).onMonitor(name, () => setSeries(live(page).series(name)));
  }, [page, name]);
  const runs = useStudio((state) => state.pages[page]?.runs ?? NO_RUNS);
  const hidden = useStudio((state) => (state.pages[page]?.runsView ?? NO_RUNS_VIEW).hidden);
  const earlier = monitor.kind === "trend" ? earlierCurves(runs, hidden, name, series) : [];
  if (earlier.length > 0 && !series?.problem)
    return (
      <Trend
        monitor={monitor}
        series={series?.steps?.length ? series : emptySeries(earlier)}
        earlier={earlier}
      />
    );
  if (series === undefined) return <div className="monitor-empty small">{t.nothingYet}</div>;
  if (series.problem) return <div className="monitor-empty small bad">{series.problem}</div>;
  const shows = monitor.shows ?? [];
  if (monitor.kind === "number") return <Numbers shows={shows} series={series} />;
  if (monitor.kind === "trend") return <Trend monitor={monitor} series={series} />;
  if (monitor.kind === "image") return <ImageMap monitor={monitor} series={series} />;
  if (monitor.kind === "histogram") return <Histogram shows={shows} series={series} />;
  return <div className="monitor-empty small">{t.unknownMonitor(monitor.kind)}</div>;
}

/** The series of a trend that has no points yet, with the curves that it had last. */
function emptySeries(earlier: readonly RunCurves[]): Series {
  const { curves = [] } = earlier.at(-1)?.series ?? {};
  return { steps: [], curves, values: curves.map(() => []) };
}

function Numbers({ shows, series }: { shows: readonly MonitorSource[]; series: Series }): ReactElement {
  const t = useStrings();
  return (
    <div className="monitor-numbers">
      {curveLabels(shows, series, t).map((label, i) => (
        <div className="monitor-number" key={label}>
          <span className="soft">{label}</span>
          <output>{formatNumber(series.values?.[i]?.at(-1))}</output>
        </div>
      ))}
    </div>
  );
}

/** A heatmap with its colour bar. */
function ImageMap({ monitor, series }: { monitor: MonitorFile; series: Series }): ReactElement {
  const t = useStrings();
  const map = useRef<HTMLCanvasElement>(null);
  const bar = useRef<HTMLCanvasElement>(null);
  const [rows = 0, columns = 0] = series.picture_shape ?? [];
  const values = new Float32Array(series.picture ? bytesOf(series.picture).buffer : new ArrayBuffer(0));
  const finite = values.filter(Number.isFinite);
  const least = monitor.low ?? finite.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const most = monitor.high ?? finite.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const scale = scaleFor(Number.isFinite(least) ? least : 0, Number.isFinite(most) ? most : 1);
  useEffect(() => {
    draw(map.current, renderColours(values, rows, columns, scale));
    const steps = Array.from({ length: 64 }, (_, i) => scale.high - (i / 63) * (scale.high - scale.low));
    draw(bar.current, renderColours(steps, 64, 1, scale));
  });
  return (
    <>
      <canvas
        ref={map}
        className="map"
        role="img"
        aria-label={`${shownLabel(monitor.shows?.[0])} ${rows}×${columns}`}
      />
      <div className="legend" title={planeTitle(monitor.shows?.[0]?.pin ?? "", series.plane, t)}>
        <canvas ref={bar} />
        <span className="high">{formatNumber(scale.high)}</span>
        <span className="low">{formatNumber(scale.low)}</span>
        <span className="slice">{planeText(series.plane, t)}</span>
      </div>
    </>
  );
}

function draw(canvas: HTMLCanvasElement | null, picture: HTMLCanvasElement): void {
  if (canvas === null) return;
  canvas.width = picture.width;
  canvas.height = picture.height;
  canvas.getContext("2d")?.drawImage(picture, 0, 0);
}

function Histogram({ shows, series }: { shows: readonly MonitorSource[]; series: Series }): ReactElement {
  const counts = series.counts ?? [];
  const edges = series.edges ?? [];
  const most = Math.max(1, ...counts.flat());
  const bins = Math.max(1, edges.length - 1);
  // The bin of an integer has it in the middle.
  const half = series.whole ? 0.5 : 0;
  return (
    <div className="histogram">
      <svg
        viewBox={`0 0 ${bins} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={shows.map(shownLabel).join(", ")}
      >
        {counts.map((each, i) =>
          each.map((count, bin) => (
            <rect
              // biome-ignore lint/suspicious/noArrayIndexKey: a bin is its place.
              key={`${i} ${bin}`}
              className={CURVE_COLOURS[i % CURVE_COLOURS.length]}
              x={bin + 0.06}
              width={0.88}
              y={100 - (96 * count) / most}
              height={(96 * count) / most}
            />
          )),
        )}
      </svg>
      <div className="histogram-axis mono">
        <span>{formatNumber(edges[0] === undefined ? undefined : edges[0] + half)}</span>
        <span>{formatNumber(edges.length === 0 ? undefined : (edges.at(-1) as number) - half)}</span>
      </div>
    </div>
  );
}
