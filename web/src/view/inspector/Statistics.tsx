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
  measures: TensorStatistics;
  looking: ScanProgress | null;
}

/** Smallest, largest and what lies between, and how many cells are zero or no numbers; whether that is an estimate. */
export function Statistics({ measures, looking }: StatisticsProps): ReactElement {
  const t = useInspectorStrings();
  const { low, high, mean, deviation, zeros = 0, nans = 0, infinities = 0 } = measures;
  const rows: [string, string, boolean][] = [
    // These are cells' own numbers: cut short they would be of no cell.
    [t.least, cellText(low, measures.dtype), false],
    [t.most, cellText(high, measures.dtype), false],
    [t.mean, formatNumber(mean), false],
    [t.deviation, formatNumber(deviation), false],
    [t.zeros, t.count(zeros), false],
    ["NaN", t.count(nans), nans > 0],
    ["Inf", t.count(infinities), infinities > 0],
  ];
  return (
    <>
      <dl className="statistics" aria-busy={looking !== null && looking.part !== null}>
        {rows.map(([name, value, bad]) => (
          <div key={name} className={bad ? "bad" : ""}>
            <dt>{name}</dt>
            <dd>{measures.sampled ? `≈ ${value}` : value}</dd>
          </div>
        ))}
      </dl>
      {looking && (
        <div className="looking small">
          <p>{t.estimated(seen(measures), elementCount(measures.shape))}</p>
          {looking.part !== null && <progress value={looking.part} aria-label={t.scanned(looking.part)} />}
          <button type="button" className="button" onClick={looking.toggle}>
            {looking.part === null ? t.scanAll : t.stopScan(looking.part)}
          </button>
        </div>
      )}
    </>
  );
}

/** How many cells the statistics were made of. */
function seen({ counts = [], nans = 0, infinities = 0 }: TensorStatistics): number {
  return counts.reduce((sum, each) => sum + each, nans + infinities);
}

function cellText(value: number | null | undefined, dtype: string): string {
  if (value === null || value === undefined) return "–";
  return /int|float64|complex128/.test(dtype) ? String(value) : numberText(value);
}

interface HistogramProps {
  measures: TensorStatistics;
  range: Range;
  onRange(range: Range): void;
}

const WIDTH = 256;

/** How many cells lie where, with the colours below. Two handles say which numbers get colours. */
export function Histogram({ measures, range, onRange }: HistogramProps): ReactElement | null {
  const t = useInspectorStrings();
  const common = useStrings();
  const bar = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [held, setHeld] = useState<Range | null>(null);
  const shown = held ?? range;
  const least = Math.min(measures.low ?? 0, shown.low);
  const most = Math.max(measures.high ?? 0, shown.high);
  const span = most - least || 1;
  const counts = measures.counts ?? [];
  const clips = { low: (measures.low ?? 0) < shown.low, high: (measures.high ?? 0) > shown.high };
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
  if (measures.low === null || measures.low === undefined) return null;
  const top = Math.max(1, ...counts);
  const from = ((measures.low - least) / span) * WIDTH;
  const width = ((((measures.high as number) - measures.low) / span) * WIDTH) / Math.max(counts.length, 1);
  const set = (end: "low" | "high", value: number): Range =>
    end === "low"
      ? { low: Math.min(value, shown.high), high: shown.high }
      : { low: shown.low, high: Math.max(value, shown.low) };

  function drag(event: PointerEvent<HTMLElement>, end: "low" | "high") {
    const rect = box.current?.getBoundingClientRect();
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || rect === undefined) return;
    const part = Math.min(Math.max((event.clientX - rect.left) / rect.width, 0), 1);
    setHeld(set(end, least + part * span));
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
            aria-valuemin={least}
            aria-valuemax={most}
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
