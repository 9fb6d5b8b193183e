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
import type { Range } from "../../model/shades.ts";
import { revealing, type Step, stepped } from "../../model/tiles.ts";
import { type Arrangement, fitted } from "../../model/wells.ts";
import { TensorMap } from "./map.ts";
import type { Mark } from "./paint.ts";
import type { TensorSource } from "./source.ts";
import { useInspectorWords } from "./words.ts";

export type { Mark, MarkKind } from "./paint.ts";

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
  /** The width of a cell; fits all into the view if nobody says. */
  width?: number | null;
  label?: string;
  onHover(cell: number[] | null): void;
  onPick(cell: number[]): void;
  onFailed?(message: string): void;
  ref?: Ref<TensorViewControl>;
}

export interface TensorViewControl {
  /** Brings a cell into view, with the sliders at it. */
  reveal(cell: readonly number[]): void;
  focus(): void;
}

const STEPS: Readonly<Record<string, Step>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "first",
  End: "last",
};

/** The map of a tensor: one cell after the other by arrows, one slice after the other by Page Up and Page Down. */
export function TensorView(props: Props): ReactElement {
  const { tensor, source, range, cursor, marks, width = null, onHover, onPick } = props;
  const w = useInspectorWords();
  const scroller = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const cells = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const map = useRef<TensorMap | null>(null);
  const [own, setOwn] = useState<Arrangement>();
  const arrangement = fitted(props.arrangement ?? own, tensor.shape, tensor.axes);
  const arrange = (next: Arrangement) => (props.onArrange ?? setOwn)(next);
  const failed = useRef(props.onFailed);
  failed.current = props.onFailed;

  useEffect(() => {
    const made = new TensorMap(
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
  useEffect(() => {
    const all = cursor === null ? marks : [...marks, { kind: "cursor", cell: cursor } as const];
    map.current?.set({ ...tensor, source, arrangement, range, marks: all, width });
  });
  useEffect(() => source.onChange(() => map.current?.refresh()), [source]);

  const reveal = (cell: readonly number[]) => {
    const next = revealing(arrangement, cell);
    if (next !== arrangement) arrange(next);
    // What is arranged anew is placed after the next frame.
    requestAnimationFrame(() => map.current?.reveal(cell));
  };
  useImperativeHandle(props.ref, () => ({ reveal, focus: () => scroller.current?.focus() }));

  function go(cell: number[]) {
    onHover(cell);
    reveal(cell);
  }
  function key(event: KeyboardEvent) {
    const tiles = map.current?.layout;
    if (!tiles || event.altKey || event.metaKey) return;
    const here = cursor ?? arrangement.at;
    const step = STEPS[event.key];
    if (step !== undefined) {
      const far = event.ctrlKey && (step === "first" || step === "last");
      go(
        cursor === null ? [...here] : stepped(tiles, here, far ? (step === "first" ? "start" : "end") : step),
      );
    } else if (event.key === "PageUp" || event.key === "PageDown") {
      go(turned(arrangement, tensor.shape, here, event.key === "PageDown" ? 1 : -1));
    } else if (event.key === "Enter") onPick([...here]);
    else return;
    event.preventDefault();
  }
  function move(event: PointerEvent) {
    onHover(map.current?.at(event.clientX, event.clientY) ?? null);
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: no element is a map that arrows move in.
    <div
      ref={scroller}
      className="tensor-map"
      role="application"
      aria-label={props.label ?? w.mapOf(tensor.pin)}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrows move in it.
      tabIndex={0}
      onKeyDown={key}
      onPointerMove={move}
      onPointerLeave={() => onHover(null)}
      onClick={(event) => {
        const cell = map.current?.at(event.clientX, event.clientY);
        if (cell) onPick(cell);
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

/** The next slice: of the first slider that moves, or of the tiles. */
function turned(
  { wells }: Arrangement,
  shape: readonly number[],
  cell: readonly number[],
  by: 1 | -1,
): number[] {
  const axis = [...wells.sliders, wells.across, wells.down].find(
    (each) => each !== null && (shape[each] as number) > 1,
  );
  if (axis === undefined || axis === null) return [...cell];
  const size = shape[axis] as number;
  return cell.map((place, each) => (each === axis ? Math.min(Math.max(place + by, 0), size - 1) : place));
}
