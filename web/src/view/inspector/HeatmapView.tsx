import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  type Ref,
  useEffect,
  useImperativeHandle,
  useRef,
  useState,
} from "react";
import { type Arrangement, fitArrangement } from "../../model/axis-roles.ts";
import type { Range } from "../../model/colour-index.ts";
import { CURSOR_KEYS, moveCursor, revealCell } from "../../model/tiles.ts";
import { useInspectorStrings } from "../strings.ts";
import { Heatmap } from "./heatmap.ts";
import type { Mark } from "./marks.ts";
import type { TensorSource } from "./tensor-source.ts";

export type { Mark, MarkKind } from "./marks.ts";

export interface TensorInfo {
  readonly pin: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The name of each axis: N D H W C, or its number. */
  readonly axes: readonly string[];
}

interface Props {
  tensor: TensorInfo;
  /** Must be memoised: a new source is fetched again. */
  source: TensorSource;
  /** The colour range. */
  range: Range;
  cursor: readonly number[] | null;
  marks: readonly Mark[];
  /** The axis layout; local state if it is not given. */
  arrangement?: Arrangement;
  onArrange?(arrangement: Arrangement): void;
  label?: string;
  /** Receives brush strokes instead of clicks; the end has no cell. */
  onPaint?(cell: number[], phase: "start" | "on" | "end"): void;
  onHover(cell: number[] | null): void;
  /** Receives cursor moves by keys; `onHover` by default. */
  onMove?(cell: number[]): void;
  onPick(cell: number[]): void;
  onFailed?(message: string): void;
  ref?: Ref<HeatmapControl>;
}

export interface HeatmapControl {
  /** Scrolls to a cell, in its slice. */
  reveal(cell: readonly number[]): void;
  /** Zooms in or out; 0 fits all cells. */
  zoom(by: 1 | 0 | -1): void;
  focus(): void;
  /**
   * Shows marks at the next frame without a React render, for marks that follow the pointer. From then on they replace
   * the properties `marks` and `cursor`.
   */
  mark(marks: readonly Mark[]): void;
}

/** Zoom levels: widths of cells from a pixel to a full number. */
const WIDTHS = [1, 2, 4, 8, 12, 20, 28, 40, 56, 80, 112];

/** The heatmap of a tensor. Arrows move between cells, Page Up and Page Down between slices. */
export function HeatmapView(props: Props): ReactElement {
  const { tensor, source, range, cursor, marks, onHover, onPick, onPaint } = props;
  const t = useInspectorStrings();
  const scroller = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const cells = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const map = useRef<Heatmap | null>(null);
  const [own, setOwn] = useState<Arrangement>();
  const [width, setWidth] = useState<number | null>(null);
  const arrangement = fitArrangement(props.arrangement ?? own, tensor.shape, tensor.axes);
  const arrange = (next: Arrangement) => (props.onArrange ?? setOwn)(next);
  const failed = useRef(props.onFailed);
  failed.current = props.onFailed;

  useEffect(() => {
    const made = new Heatmap(
      scroller.current as HTMLElement,
      space.current as HTMLElement,
      cells.current as HTMLCanvasElement,
      overlay.current as HTMLCanvasElement,
    );
    map.current = made;
    made.onFailed = (message) => failed.current?.(message);
    return () => {
      made.end();
      map.current = null;
    };
  }, []);
  // Browsers send pointer events for a resting pointer when the content below it changes: keys would lose the cursor.
  const leads = useRef<"keys" | "pointer">("keys");
  const marked = useRef<readonly Mark[]>(null);
  useEffect(() => {
    const all =
      marked.current ?? (cursor === null ? marks : [...marks, { kind: "cursor", cell: cursor } as const]);
    map.current?.set({ ...tensor, source, arrangement, range, marks: all, width });
  });
  useEffect(() => source.onChange(() => map.current?.refresh()), [source]);

  const reveal = (cell: readonly number[]) => {
    const next = revealCell(arrangement, cell);
    if (next !== arrangement) arrange(next);
    // A new arrangement is laid out after the next frame.
    requestAnimationFrame(() => map.current?.reveal(cell));
  };
  const zoom = (by: 1 | 0 | -1) => {
    const now = map.current?.layout?.cell.width ?? 1;
    const [larger, smaller] = [WIDTHS.find((each) => each > now), WIDTHS.findLast((each) => each < now)];
    setWidth(by === 0 ? null : ((by > 0 ? larger : smaller) ?? now));
    if (cursor !== null) requestAnimationFrame(() => map.current?.reveal(cursor));
  };
  useImperativeHandle(props.ref, () => ({
    reveal,
    zoom,
    focus: () => scroller.current?.focus(),
    mark: (all) => {
      marked.current = all;
      map.current?.mark(all);
    },
  }));
  const wheel = useRef(zoom);
  wheel.current = zoom;
  useEffect(() => {
    const element = scroller.current;
    const listen = (event: WheelEvent) => {
      leads.current = "pointer";
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      wheel.current(event.deltaY < 0 ? 1 : -1);
    };
    // React's wheel listeners are passive.
    element?.addEventListener("wheel", listen, { passive: false });
    return () => element?.removeEventListener("wheel", listen);
  }, []);

  function go(cell: number[]) {
    (props.onMove ?? onHover)(cell);
    reveal(cell);
  }
  function key(event: KeyboardEvent) {
    if (event.altKey || event.metaKey) return;
    leads.current = "keys";
    const now = marked.current ? cursorMark(marked.current) : cursor;
    const here = now ?? arrangement.at;
    const step = CURSOR_KEYS[event.key];
    if (step !== undefined) {
      const far = event.ctrlKey && (step === "first" || step === "last");
      // The first arrow key only shows the cursor.
      if (now === null && !far) go([...here]);
      else
        go(
          moveCursor(
            { shape: tensor.shape, arrangement },
            here,
            far ? (step === "first" ? "start" : "end") : step,
          ),
        );
    } else if (event.key === "PageUp" || event.key === "PageDown") {
      go(nextSlice(arrangement, tensor.shape, here, event.key === "PageDown" ? 1 : -1));
    } else if (event.key === "Enter") onPick([...here]);
    else if (event.key === "+" || event.key === "=") zoom(1);
    else if (event.key === "-") zoom(-1);
    else if (event.key === "0") zoom(0);
    else if (event.key === " " && onPaint) {
      onPaint([...here], "start");
      onPaint([], "end");
    } else return;
    event.preventDefault();
  }
  function move(event: PointerEvent<HTMLElement>) {
    if (event.movementX !== 0 || event.movementY !== 0) leads.current = "pointer";
    if (leads.current === "keys") return;
    const cell = map.current?.at(event.clientX, event.clientY);
    onHover(cell ?? null);
    if (!onPaint || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    // A quick stroke is few events with many coalesced positions.
    for (const { clientX, clientY } of event.nativeEvent.getCoalescedEvents()) {
      const met = map.current?.at(clientX, clientY);
      if (met) onPaint(met, "on");
    }
  }
  function down(event: PointerEvent<HTMLElement>) {
    const cell = map.current?.at(event.clientX, event.clientY);
    if (!cell || !onPaint) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    onPaint(cell, "start");
  }
  function up(event: PointerEvent<HTMLElement>) {
    if (onPaint && event.currentTarget.hasPointerCapture(event.pointerId)) onPaint([], "end");
  }
  return (
    <div
      ref={scroller}
      className={onPaint ? "tensor-map painting" : "tensor-map"}
      role="application"
      aria-label={props.label ?? t.heatmapOf(tensor.pin)}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrows move in it.
      tabIndex={0}
      onKeyDown={key}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerLeave={() => onHover(null)}
      onClick={(event) => {
        const cell = map.current?.at(event.clientX, event.clientY);
        if (cell && !onPaint) onPick(cell);
      }}
    >
      <div ref={space} className="tensor-space">
        <div className="tensor-sight">
          <canvas ref={cells} />
          <canvas ref={overlay} />
        </div>
      </div>
    </div>
  );
}

function cursorMark(marks: readonly Mark[]): readonly number[] | null {
  return marks.find(({ kind }) => kind === "cursor" || kind === "pinned")?.cell ?? null;
}

/** The same cell in the next slice, along the first slider or tile axis longer than 1. */
function nextSlice(
  { roles }: Arrangement,
  shape: readonly number[],
  cell: readonly number[],
  by: 1 | -1,
): number[] {
  const axis = [...roles.sliders, roles.across, roles.down].find(
    (each) => each !== null && (shape[each] as number) > 1,
  );
  if (axis === undefined || axis === null) return [...cell];
  const size = shape[axis] as number;
  return cell.map((place, each) => (each === axis ? Math.min(Math.max(place + by, 0), size - 1) : place));
}
