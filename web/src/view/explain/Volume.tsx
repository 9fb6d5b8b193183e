import {
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
import { placeOf } from "../../model/cells.ts";
import type { Lit } from "../../model/explaining.ts";
import { type Range, shadeOf } from "../../model/shades.ts";
import { cellUnder, EDGE, type Eye, look, MOST_SIDE, type Sides } from "../../model/volume.ts";
import type { Arrangement } from "../../model/wells.ts";
import { paletteFor } from "../inspector/paint.ts";
import type { HeldTensor } from "./picture.ts";
import type { TensorLights } from "./TensorPanel.tsx";
import { useExplainWords } from "./words.ts";

interface Props {
  held: HeldTensor;
  arrangement: Arrangement;
  range: Range;
  lights: TensorLights | undefined;
  onHover(cell: number[] | null): void;
  onPick(cell: number[]): void;
  ref: Ref<{ light(lights: TensorLights | undefined): void }>;
}

/** The later ones cover the earlier ones. */
const MARKS: readonly (readonly [Lit, readonly [number, number, number]])[] = [
  ["feeds", [123, 31, 162]],
  ["from", [11, 87, 208]],
  ["tie", [120, 120, 120]],
  ["winner", [20, 24, 31]],
  ["here", [194, 24, 91]],
];
const LIGHT = [0.78, 1, 0.9] as const;
const STEP = Math.PI / 18;

/** Three axes of a tensor as a box of cells that can be turned; cells nearer to 0 than a threshold are left out. */
export default function Volume(props: Props): ReactElement {
  const { held, arrangement, range, onHover, onPick } = props;
  const w = useExplainWords();
  const { tensor } = held;
  const box = useMemo(() => boxOf(held, arrangement), [held, arrangement]);
  const [part, setPart] = useState(0.5);
  const [eye, setEye] = useState<Eye>({ turn: 0.6, tilt: 0.45 });
  const canvas = useRef<HTMLCanvasElement>(null);
  const lit = useRef(props.lights);
  const drag = useRef<{ x: number; y: number; eye: Eye; moved: boolean } | null>(null);
  const scene = useMemo(() => box && sceneOf(box, part), [box, part]);

  const draw = () => {
    if (!box || !scene || !canvas.current) return;
    const marked = new Uint8Array(scene.length);
    for (const [i, [how]] of MARKS.entries()) {
      for (const place of lit.current?.get(how) ?? []) {
        const at = box.places.get(place);
        if (at !== undefined) marked[at] = i + 1;
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
    light: (lights) => {
      lit.current = lights;
      requestAnimationFrame(() => drawn.current());
    },
  }));
  if (!box || !scene) return <p className="empty">{w.tooLargeForVolume}</p>;

  const under = (event: PointerEvent): number[] | null => {
    const { width, height, left, top } = (canvas.current as HTMLCanvasElement).getBoundingClientRect();
    const at = { x: event.clientX - left, y: event.clientY - top };
    const found = cellUnder(box.sides, scene, eye, { width, height }, at);
    return found < 0 ? null : box.cellOf(found);
  };
  function key(event: KeyboardEvent) {
    const turns: Record<string, readonly [number, number]> = {
      ArrowLeft: [-STEP, 0],
      ArrowRight: [STEP, 0],
      ArrowUp: [0, -STEP],
      ArrowDown: [0, STEP],
    };
    const by = turns[event.key];
    if (by) setEye(turned(eye, ...by));
    else if (event.key === "+" || event.key === "=") setPart(Math.min(1, part + 0.05));
    else if (event.key === "-") setPart(Math.max(0, part - 0.05));
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
    <div className="explain-volume">
      <div
        className="explain-box"
        role="application"
        aria-label={w.volumeOf(tensor.pin)}
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
      >
        <canvas ref={canvas} />
      </div>
      <label className="explain-threshold small">
        {w.threshold} <span className="mono">{Number((part * box.most).toPrecision(3))}</span>
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

function turned({ turn, tilt }: Eye, right: number, down: number): Eye {
  return { turn: turn + right, tilt: Math.max(-1.4, Math.min(1.4, tilt + down)) };
}

interface CellBox {
  readonly sides: Sides;
  readonly values: Float32Array;
  /** The largest size of a number. */
  readonly most: number;
  /** Where in the box a place of the tensor is. */
  readonly places: ReadonlyMap<number, number>;
  cellOf(index: number): number[];
}

/** Columns, rows and tiles of the map are the box's width, height and depth; undefined if that is too large. */
function boxOf(held: HeldTensor, { wells, at }: Arrangement): CellBox | undefined {
  const { shape } = held.tensor;
  const axes = [wells.columns, wells.rows, wells.across ?? wells.down] as const;
  const sides = axes.map((axis) => (axis === null ? 1 : (shape[axis] as number))) as [number, number, number];
  if (Math.max(...sides) > MOST_SIDE || !held.whole) return undefined;
  const cellOf = (index: number): number[] => {
    const cell = [...at];
    const where = [
      index % sides[0],
      Math.floor(index / sides[0]) % sides[1],
      Math.floor(index / (sides[0] * sides[1])),
    ];
    for (const [i, axis] of axes.entries()) if (axis !== null) cell[axis] = where[i] as number;
    return cell;
  };
  const values = new Float32Array(sides[0] * sides[1] * sides[2]);
  const places = new Map<number, number>();
  let most = 0;
  for (let i = 0; i < values.length; i++) {
    const place = placeOf(cellOf(i), shape);
    const value = held.at(place) ?? 0;
    values[i] = value;
    places.set(place, i);
    if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  }
  return { sides, values, most, places, cellOf };
}

/** For each cell whether it is far enough from 0 to be shown. */
function sceneOf({ values, most }: CellBox, part: number): Uint8Array {
  return Uint8Array.from(values, (value) => (Number.isNaN(value) || Math.abs(value) >= part * most ? 1 : 0));
}

function paint(
  canvas: HTMLCanvasElement,
  { sides, values }: CellBox,
  scene: Uint8Array,
  marked: Uint8Array,
  eye: Eye,
  range: Range,
): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (width === 0 || height === 0) return;
  canvas.width = width;
  canvas.height = height;
  const shown = scene.map((each, i) => (each || marked[i] ? 1 : 0));
  const { cells, faces } = look(sides, shown, eye, width, height);
  const { pixels } = paletteFor(range);
  const g = canvas.getContext("2d") as CanvasRenderingContext2D;
  const image = g.createImageData(width, height);
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i] as number;
    if (cell < 0) continue;
    const face = faces[i] as number;
    const pixel = pixels[shadeOf(values[cell] as number, range)] as number;
    const [, mark] = MARKS[(marked[cell] as number) - 1] ?? [];
    const light = LIGHT[face % EDGE] as number;
    const [mix, dark] = face >= EDGE ? [mark ? 1 : 0, mark ? 1 : 0.7] : [mark ? 0.35 : 0, 1];
    for (let channel = 0; channel < 3; channel++) {
      const own = (pixel >> (8 * channel)) & 255;
      image.data[4 * i + channel] = light * dark * (own * (1 - mix) + (mark?.[channel] ?? 0) * mix);
    }
    image.data[4 * i + 3] = 255;
  }
  g.putImageData(image, 0, 0);
}
