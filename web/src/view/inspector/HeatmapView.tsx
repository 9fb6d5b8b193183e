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
  /** One for each axis: N D H W C, or its number. */
  readonly axes: readonly string[];
}

interface Props {
  tensor: TensorInfo;
  /** Keep it as long as the tensor is the same one (useMemo): another source is asked anew. */
  source: TensorSource;
  /** The numbers with the first and the last colour. */
  range: Range;
  cursor: readonly number[] | null;
  marks: readonly Mark[];
  /** How axes are laid out; kept here if nobody says. */
  arrangement?: Arrangement;
  onArrange?(arrangement: Arrangement): void;
  label?: string;
  /** Takes a stroke over cells, instead of a click on one; it ends without a cell. */
  onPaint?(cell: number[], phase: "start" | "on" | "end"): void;
  onHover(cell: number[] | null): void;
  /** Takes a cell that keys lead to; `onHover` does if nobody says. */
  onMove?(cell: number[]): void;
  onPick(cell: number[]): void;
  onFailed?(message: string): void;
  ref?: Ref<HeatmapControl>;
}

export interface HeatmapControl {
  /** Brings a cell into view, with the sliders at it. */
  reveal(cell: readonly number[]): void;
  /** Makes cells larger or smaller; with 0 as large as fits. */
  zoom(by: 1 | 0 | -1): void;
  focus(): void;
  /**
   * Shows these marks at the next frame, without React: for what moves with the pointer. From then on they stand for
   * the properties `marks` and `cursor`.
   */
  mark(marks: readonly Mark[]): void;
}

/** Widths of cells, from a pixel to a number with all its digits. */
const WIDTHS = [1, 2, 4, 8, 12, 20, 28, 40, 56, 80, 112];

/** The map of a tensor: one cell after the other by arrows, one slice after the other by Page Up and Page Down. */
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
  // Browsers report a pointer at rest as moved when what is below it changes: keys would lose the cursor to it.
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
    // What is arranged anew is placed after the next frame.
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
    // React listens to wheels without being able to stop them.
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
      // The first arrow only shows where one is.
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
    // A quick stroke comes as few events that hold many places.
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

/** The next slice: of the first slider that moves, or of the tiles. */
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
