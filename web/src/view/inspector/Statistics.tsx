import { type KeyboardEvent, type PointerEvent, type ReactElement, useEffect, useRef, useState } from "react";
import type { Range } from "../../model/colour-index.ts";
import { elementCount } from "../../model/indexing.ts";
import { numberText } from "../../net/frames.ts";
import { renderColours, scaleFor } from "../canvas/colourmap.ts";
import { formatNumber } from "../canvas/monitor-labels.ts";
import { useInspectorStrings, useStrings } from "../strings.ts";
import { ValidatedField } from "../widgets/ValidatedField.tsx";
import type { ScanProgress, TensorStatistics } from "./useTensor.ts";

interface StatisticsProps {
  statistics: TensorStatistics;
  scan: ScanProgress | null;
}

/** The table of statistics, and the progress of a scan while they are estimates. */
export function Statistics({ statistics, scan }: StatisticsProps): ReactElement {
  const t = useInspectorStrings();
  const { low, high, mean, deviation, zeros = 0, nans = 0, infinities = 0 } = statistics;
  const rows: [string, string, boolean][] = [
    // Minimum and maximum are exact values of cells, so they are not rounded.
    [t.least, cellText(low, statistics.dtype), false],
    [t.most, cellText(high, statistics.dtype), false],
    [t.mean, formatNumber(mean), false],
    [t.deviation, formatNumber(deviation), false],
    [t.zeros, t.count(zeros), false],
    ["NaN", t.count(nans), nans > 0],
    ["Inf", t.count(infinities), infinities > 0],
  ];
  return (
    <>
      <dl className="statistics" aria-busy={scan !== null && scan.part !== null}>
        {rows.map(([name, value, bad]) => (
          <div key={name} className={bad ? "bad" : ""}>
            <dt>{name}</dt>
            <dd>{statistics.sampled ? `≈ ${value}` : value}</dd>
          </div>
        ))}
      </dl>
      {scan && (
        <div className="looking small">
          <p>{t.estimated(seen(statistics), elementCount(statistics.shape))}</p>
          {scan.part !== null && <progress value={scan.part} aria-label={t.scanned(scan.part)} />}
          <button type="button" className="button" onClick={scan.toggle}>
            {scan.part === null ? t.scanAll : t.stopScan(scan.part)}
          </button>
        </div>
      )}
    </>
  );
}

/** The number of cells that the statistics are from. */
function seen({ counts = [], nans = 0, infinities = 0 }: TensorStatistics): number {
  return counts.reduce((sum, each) => sum + each, nans + infinities);
}

function cellText(value: number | null | undefined, dtype: string): string {
  if (value === null || value === undefined) return "–";
  return /int|float64|complex128/.test(dtype) ? String(value) : numberText(value);
}

interface HistogramProps {
  statistics: TensorStatistics;
  range: Range;
  onRange(range: Range): void;
}

const WIDTH = 256;

/** The histogram with the colour bar below. Two handles set the colour range. */
export function Histogram({ statistics, range, onRange }: HistogramProps): ReactElement | null {
  const t = useInspectorStrings();
  const common = useStrings();
  const bar = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [held, setHeld] = useState<Range | null>(null);
  const shown = held ?? range;
  // The bar of an integer has it in the middle.
  const half = statistics.whole ? 0.5 : 0;
  const least = Math.min((statistics.low ?? 0) - half, shown.low);
  const most = Math.max((statistics.high ?? 0) + half, shown.high);
  const span = most - least || 1;
  const lowest = Math.min(statistics.low ?? 0, shown.low);
  const highest = Math.max(statistics.high ?? 0, shown.high);
  const counts = statistics.counts ?? [];
  const clips = { low: (statistics.low ?? 0) < shown.low, high: (statistics.high ?? 0) > shown.high };
  useEffect(() => {
    const canvas = bar.current;
    if (canvas === null) return;
    const scale = scaleFor(shown.low, shown.high);
    const values = Array.from({ length: WIDTH }, (_, i) => {
      const value = least + (i / (WIDTH - 1)) * span;
      return Math.min(Math.max(value, shown.low), shown.high);
    });
    const picture = renderColours(values, 1, WIDTH, scale);
    canvas.width = WIDTH;
    canvas.height = 1;
    canvas.getContext("2d")?.drawImage(picture, 0, 0);
  }, [shown.low, shown.high, least, span]);
  if (statistics.low === null || statistics.low === undefined) return null;
  const top = Math.max(1, ...counts);
  const from = ((statistics.low - half - least) / span) * WIDTH;
  const breadth = (statistics.high as number) - statistics.low + 2 * half;
  const width = ((breadth / span) * WIDTH) / Math.max(counts.length, 1);
  const set = (end: "low" | "high", value: number): Range =>
    end === "low"
      ? { low: Math.min(value, shown.high), high: shown.high }
      : { low: shown.low, high: Math.max(value, shown.low) };

  function drag(event: PointerEvent<HTMLElement>, end: "low" | "high") {
    const rect = box.current?.getBoundingClientRect();
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || rect === undefined) return;
    const part = Math.min(Math.max((event.clientX - rect.left) / rect.width, 0), 1);
    setHeld(set(end, Math.min(Math.max(least + part * span, lowest), highest)));
  }
  function key(event: KeyboardEvent, end: "low" | "high") {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    onRange(set(end, shown[end] + (by * span) / (event.shiftKey ? 8 : 64)));
  }
  return (
    <div className="tensor-histogram">
      <div ref={box} className="histogram-plot">
        <svg viewBox={`0 0 ${WIDTH} 48`} preserveAspectRatio="none" role="img" aria-label={t.histogram}>
          {counts.map((count, i) => {
            const height = count === 0 ? 0 : Math.max(1, (46 * count) / top);
            return (
              <rect
                // biome-ignore lint/suspicious/noArrayIndexKey: a bin is its place.
                key={i}
                x={from + i * width}
                y={48 - height}
                width={Math.max(width * 0.9, 1)}
                height={height}
              />
            );
          })}
        </svg>
        {(["low", "high"] as const).map((end) => (
          <span
            key={end}
            className={`range-handle ${end}`}
            role="slider"
            tabIndex={0}
            aria-label={end === "low" ? t.rangeLow : t.rangeHigh}
            aria-valuemin={lowest}
            aria-valuemax={highest}
            aria-valuenow={shown[end]}
            aria-valuetext={formatNumber(shown[end])}
            style={{ left: `${((shown[end] - least) / span) * 100}%` }}
            onKeyDown={(event) => key(event, end)}
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId);
              setHeld(shown);
            }}
            onPointerMove={(event) => drag(event, end)}
            onPointerUp={() => {
              if (held) onRange(held);
              setHeld(null);
            }}
            onPointerCancel={() => setHeld(null)}
          />
        ))}
      </div>
      <canvas ref={bar} className="colour-bar" />
      <div className="histogram-ends mono">
        {(["low", "high"] as const).map((end) => (
          <span key={end}>
            {clips[end] && <span title={t.clipped}>{end === "low" ? "≤ " : "≥ "}</span>}
            <ValidatedField<number>
              label={end === "low" ? t.rangeLow : t.rangeHigh}
              value={shown[end]}
              format={(value) => String(Number(value.toPrecision(6)))}
              size={8}
              read={(text) => {
                const value = Number(text);
                const number = text.trim() !== "" && Number.isFinite(value);
                return number ? { value } : { error: common.aNumber };
              }}
              onChange={(value) => onRange(set(end, value))}
            />
          </span>
        ))}
      </div>
    </div>
  );
}
