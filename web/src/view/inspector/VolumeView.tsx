import {
  Fragment,
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  type Ref,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Arrangement } from "../../model/axis-roles.ts";
import { colourIndices, type Range } from "../../model/colour-index.ts";
import type { CellOffsets, HighlightKind } from "../../model/highlights.ts";
import { ravelIndex, unravelIndex } from "../../model/indexing.ts";
import {
  aboveThreshold,
  type Camera,
  EDGE,
  pickVoxel,
  renderVoxels,
  type VoxelGrid,
  visibleCentres,
  voxelAxes,
  voxelGrid,
} from "../../model/voxels.ts";
import { useInspectorStrings } from "../strings.ts";
import { paletteFor } from "./heatmap-painter.ts";
import { hasMarker, SpecialValueMarkers } from "./special-value-markers.ts";

/** The tensor values for a 3-D view. */
export interface VoxelSource {
  readonly tensor: { readonly pin: string; readonly shape: readonly number[] };
  /** Whether all voxels are loaded. */
  readonly whole: boolean;
  /** The value at a row-major offset. */
  at(place: number): number | undefined;
}

interface Props {
  held: VoxelSource;
  /** The axis names. */
  names: readonly string[];
  arrangement: Arrangement;
  range: Range;
  highlights: ReadonlyMap<HighlightKind, CellOffsets> | undefined;
  onHover(cell: number[] | null): void;
  /** Receives cursor moves by keys; `onHover` by default. */
  onMove?(cell: number[]): void;
  onPick(cell: number[]): void;
  ref?: Ref<VolumeViewControl>;
}

export interface VolumeViewControl {
  highlight(highlights: ReadonlyMap<HighlightKind, CellOffsets> | undefined): void;
}

/** Later kinds are drawn over earlier ones. */
const MARKS: readonly (readonly [HighlightKind, readonly [number, number, number]])[] = [
  ["feeds", [123, 31, 162]],
  ["from", [11, 87, 208]],
  ["tie", [120, 120, 120]],
  ["winner", [20, 24, 31]],
  ["here", [194, 24, 91]],
];
const LIGHT = [0.78, 1, 0.9] as const;
const STEP = Math.PI / 18;

/** The 3-D view: voxels of three axes that can be rotated, without those below a threshold. */
export default function VolumeView(props: Props): ReactElement {
  const { held, names, arrangement, range, onHover, onPick } = props;
  const t = useInspectorStrings();
  const { shape, pin } = held.tensor;
  const axes = useMemo(() => voxelAxes(arrangement.roles, shape), [arrangement, shape]);
  const box = useMemo(
    () =>
      "map" in axes && held.whole
        ? voxelGrid(axes, shape, arrangement.at, (cell) => held.at(ravelIndex(cell, shape)) ?? 0)
        : undefined,
    [axes, held, shape, arrangement],
  );
  const [part, setPart] = useState(0.5);
  const [eye, setEye] = useState<Camera>({ yaw: 0.6, pitch: 0.45 });
  const canvas = useRef<HTMLCanvasElement>(null);
  const highlighted = useRef(props.highlights);
  const drag = useRef<{ x: number; y: number; eye: Camera; moved: boolean } | null>(null);
  const scene = useMemo(() => box && aboveThreshold(box, part), [box, part]);

  const draw = () => {
    if (!box || !scene || !canvas.current) return;
    const marked = new Uint8Array(scene.length);
    for (const [i, [how]] of MARKS.entries()) {
      for (const place of highlighted.current?.get(how) ?? []) {
        const at = box.indexOf(unravelIndex(place, shape));
        if (at >= 0) marked[at] = i + 1;
      }
    }
    paint(canvas.current, box, scene, marked, eye, range);
  };
  const drawn = useRef(draw);
  drawn.current = draw;
  useEffect(() => drawn.current());
  useEffect(() => {
    const watch = new ResizeObserver(() => drawn.current());
    if (canvas.current) watch.observe(canvas.current);
    return () => watch.disconnect();
  }, []);
  useImperativeHandle(props.ref, () => ({
    highlight: (highlights) => {
      highlighted.current = highlights;
      requestAnimationFrame(() => drawn.current());
    },
  }));
  if (!("map" in axes)) {
    const long = shape.filter((size) => size > 1).length;
    const name = "long" in axes ? (names[axes.long] as string) : "";
    return (
      <p className="empty">
        {"long" in axes
          ? t.volumeTooLong(name, shape[axes.long] as number, axes.most)
          : long < 3
            ? t.volumeTooFlat(long)
            : t.volumeNeedsAxes}
      </p>
    );
  }
  if (!box || !scene) return <p className="empty">{t.volumeTooLarge}</p>;

  const under = (event: PointerEvent): number[] | null => {
    const { width, height, left, top } = (canvas.current as HTMLCanvasElement).getBoundingClientRect();
    const at = { x: event.clientX - left, y: event.clientY - top };
    const found = pickVoxel(box.sides, scene, eye, { width, height }, at);
    return found < 0 ? null : box.cellOf(found);
  };
  /** The cell of the cursor, or that of the sliders. */
  const here = (): number[] => {
    const [place] = highlighted.current?.get("here") ?? [];
    return place === undefined ? [...arrangement.at] : unravelIndex(place, shape);
  };
  function key(event: KeyboardEvent) {
    const [viewMode, by] = KEYS[event.key] ?? [];
    const step =
      viewMode === undefined ? undefined : event.shiftKey ? viewMode : viewMode === 2 ? 2 : undefined;
    if (step !== undefined && by !== undefined) {
      const axis = box?.axes[step] as number;
      const place = Math.min(Math.max((here()[axis] as number) + by, 0), (shape[axis] as number) - 1);
      (props.onMove ?? onHover)(here().map((old, each) => (each === axis ? place : old)));
    } else if (viewMode !== undefined && by !== undefined)
      setEye(turned(eye, viewMode === 0 ? by * STEP : 0, viewMode === 1 ? by * STEP : 0));
    else if (event.key === "+" || event.key === "=") setPart(Math.min(1, part + 0.05));
    else if (event.key === "-") setPart(Math.max(0, part - 0.05));
    else if (event.key === "Enter") onPick(here());
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  function move(event: PointerEvent) {
    const from = drag.current;
    if (!from) {
      onHover(under(event));
      return;
    }
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (Math.hypot(x, y) > 4) from.moved = true;
    if (from.moved) setEye(turned(from.eye, x / 120, y / 120));
  }
  return (
    <div className="volume">
      <div
        className="volume-box"
        role="application"
        aria-label={t.volumeOf(pin)}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrows turn it.
        tabIndex={0}
        onKeyDown={key}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, y: event.clientY, eye, moved: false };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={move}
        onPointerUp={(event) => {
          const cell = drag.current?.moved ? null : under(event);
          drag.current = null;
          if (cell) onPick(cell);
        }}
        onPointerCancel={() => {
          drag.current = null;
        }}
        onPointerLeave={() => onHover(null)}
      >
        <canvas ref={canvas} />
      </div>
      <label className="volume-threshold small">
        <span className="mono">
          {box.axes.map((axis, i) => (
            <Fragment key={axis}>
              {i > 0 && " × "}
              <b>{names[axis]}</b> {shape[axis]}
            </Fragment>
          ))}
        </span>
        {t.threshold} <span className="mono">{Number((part * box.most).toPrecision(3))}</span>
        <input
          type="range"
          min={0}
          max={1}
          step={0.01}
          value={part}
          onChange={(event) => setPart(Number(event.target.value))}
        />
      </label>
    </div>
  );
}

/** The axis and direction of a key; without Shift the first two axes rotate. */
const KEYS: Readonly<Record<string, readonly [side: 0 | 1 | 2, by: 1 | -1]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [1, -1],
  ArrowDown: [1, 1],
  PageUp: [2, -1],
  PageDown: [2, 1],
};

function turned({ yaw: turn, pitch: tilt }: Camera, right: number, down: number): Camera {
  return { yaw: turn + right, pitch: Math.max(-1.4, Math.min(1.4, tilt + down)) };
}

function paint(
  canvas: HTMLCanvasElement,
  { sides, values }: VoxelGrid,
  scene: Uint8Array,
  marked: Uint8Array,
  eye: Camera,
  range: Range,
): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (width === 0 || height === 0) return;
  canvas.width = width;
  canvas.height = height;
  const shown = scene.map((each, i) => (each || marked[i] ? 1 : 0));
  const sight = renderVoxels(sides, shown, eye, width, height);
  const { cells, faces } = sight;
  const { pixels, dark } = paletteFor(range);
  const shades = colourIndices(values, range);
  const g = canvas.getContext("2d") as CanvasRenderingContext2D;
  const image = g.createImageData(width, height);
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i] as number;
    if (cell < 0) continue;
    const face = faces[i] as number;
    const pixel = pixels[shades[cell] as number] as number;
    const [, mark] = MARKS[(marked[cell] as number) - 1] ?? [];
    const light = LIGHT[face % EDGE] as number;
    const [mix, shadow] = face >= EDGE ? [mark ? 1 : 0, mark ? 1 : 0.7] : [mark ? 0.35 : 0, 1];
    for (let channel = 0; channel < 3; channel++) {
      const own = (pixel >> (8 * channel)) & 255;
      image.data[4 * i + channel] = light * shadow * (own * (1 - mix) + (mark?.[channel] ?? 0) * mix);
    }
    image.data[4 * i + 3] = 255;
  }
  g.putImageData(image, 0, 0);
  const shapes = new SpecialValueMarkers(g, dark);
  for (const { cell, x, y, size } of visibleCentres(sight, (each) => hasMarker(shades[each] as number)))
    shapes.draw(shades[cell] as number, x, y, size, size);
}
