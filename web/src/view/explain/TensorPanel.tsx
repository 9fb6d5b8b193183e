import {
  lazy,
  type ReactElement,
  Suspense,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from "react";
import { cellAt } from "../../model/cells.ts";
import type { Lit, Places } from "../../model/explaining.ts";
import type { Range } from "../../model/shades.ts";
import { revealing } from "../../model/tiles.ts";
import { axesBehind, boxed } from "../../model/volume.ts";
import { type Arrangement, arrangementOf, fitted, moveAxis, type Place, sizeIn } from "../../model/wells.ts";
import { again } from "../../net/again.ts";
import { cursor } from "../../state/cursor.ts";
import { AxisSliders, AxisWells } from "../inspector/AxisWells.tsx";
import { type Mark, TensorView, type TensorViewControl } from "../inspector/TensorView.tsx";
import type { HeldTensor } from "./picture.ts";
import { useExplainWords } from "./words.ts";

const Volume = lazy(() => again(() => import("../inspector/Volume.tsx")));

export type TensorLights = ReadonlyMap<Lit, Places>;

/** What the view asks of each tensor that it shows. */
export interface PanelControl {
  light(lights: TensorLights | undefined, pinned: boolean): void;
  /** Brings one of the lit cells into view, unless one is. */
  bring(lights: TensorLights): void;
  focus(): void;
}

interface Props {
  page: number;
  held: HeldTensor;
  axes: readonly string[];
  name: string;
  role: string;
  range: Range;
  control: (control: PanelControl | null) => void;
}

const KINDS: readonly (readonly [Lit, Mark["kind"]])[] = [
  ["feeds", "feeds"],
  ["from", "from"],
  ["tie", "tie"],
  ["winner", "winner"],
];
/** More marks than can be told apart. */
const MOST_MARKS = 1 << 14;
const NO_MARKS: readonly Mark[] = [];

/** One tensor: its name, the sliders of axes that are not seen, and its map or its box of cells. */
export function TensorPanel({ page, held, axes, name, role, range, control }: Props): ReactElement {
  const w = useExplainWords();
  const { tensor } = held;
  const info = useMemo(() => ({ ...tensor, axes }), [tensor, axes]);
  const [own, setArrangement] = useState<Arrangement>(() =>
    roomy(arrangementOf(tensor.shape, axes), tensor.shape),
  );
  const [solid, setSolid] = useState(false);
  const arrangement = useMemo(() => {
    const fitting = fitted(own, tensor.shape, axes);
    return solid ? boxed(fitting, tensor.shape, axes) : fitting;
  }, [own, tensor.shape, axes, solid]);
  const hidden = solid ? axesBehind(arrangement.wells, tensor.shape) : arrangement.wells.sliders;
  const now = useRef({ arrangement, hidden });
  now.current = { arrangement, hidden };
  const [wells, setWells] = useState(false);
  const view = useRef<TensorViewControl>(null);
  const volume = useRef<{ light(lights: TensorLights | undefined): void }>(null);
  const last = useRef<{ lights: TensorLights | undefined; pinned: boolean }>({
    lights: undefined,
    pinned: false,
  });
  const byKey = useRef(false);

  /** Takes over where axes stand: which of them are seen as a map is not what a box shows. */
  const slide = ({ at }: Arrangement) =>
    setArrangement((before) => ({ wells: fitted(before, tensor.shape, axes).wells, at }));
  const panel: PanelControl = {
    light(lights, pinned) {
      last.current = { lights, pinned };
      view.current?.mark(marksOf(lights, tensor.shape, now.current.arrangement, pinned));
      volume.current?.light(lights);
    },
    bring(lights) {
      // What matters most must be seen: the cell itself, or who won; of all others one is enough.
      const first = (["here", "winner"] as const).find((how) => lights.get(how)?.length);
      const places = (first ? [first] : (["feeds", "from"] as const)).flatMap((how) => [
        ...(lights.get(how) ?? []),
      ]);
      const { arrangement, hidden } = now.current;
      const seen = (place: number): boolean => {
        const cell = cellAt(place, tensor.shape);
        return hidden.every((axis) => cell[axis] === arrangement.at[axis]);
      };
      const [one] = places;
      if (one === undefined || places.slice(0, MOST_MARKS).some(seen)) return;
      if (view.current) view.current.reveal(cellAt(one, tensor.shape));
      else slide(revealing(arrangement, cellAt(one, tensor.shape)));
    },
    focus: () => view.current?.focus(),
  };
  useImperativeHandle(control, () => panel);
  // Marks are chosen by what is seen, which the sliders change.
  useEffect(() => panel.light(last.current.lights, last.current.pinned));

  const to = (cell: readonly number[]) => ({ page, pin: tensor.pin, cell });
  function hover(cell: number[] | null) {
    if (cell === null) return;
    if (byKey.current && cursor.pinned) cursor.carry(to(cell));
    else cursor.move(to(cell));
  }
  return (
    <section
      className={held.count === 1 ? "explain-tensor single" : "explain-tensor"}
      aria-label={`${role} ${name}`}
    >
      <header>
        <h3 className="mono">{name}</h3>
        <span className="soft small" title={`${tensor.pin} ${tensor.dtype}`}>
          [{tensor.shape.join(", ")}] {tensor.pin}
        </span>
        {tensor.shape.length > 1 && (
          <button
            type="button"
            className="button small"
            aria-expanded={wells}
            onClick={() => setWells(!wells)}
          >
            {w.axes}
          </button>
        )}
        {tensor.shape.length > 2 && (
          <button
            type="button"
            className="button small"
            aria-pressed={solid}
            onClick={() => setSolid(!solid)}
          >
            {solid ? w.asMap : w.asVolume}
          </button>
        )}
      </header>
      {wells && <AxisWells tensor={info} arrangement={arrangement} onArrange={setArrangement} />}
      <AxisSliders tensor={info} arrangement={arrangement} hidden={hidden} onArrange={slide} />
      <div
        className="explain-map"
        onKeyDownCapture={() => {
          byKey.current = true;
        }}
        onPointerMoveCapture={() => {
          byKey.current = false;
        }}
      >
        {solid ? (
          <Suspense fallback={null}>
            <Volume
              held={held}
              names={axes}
              arrangement={arrangement}
              range={range}
              lights={last.current.lights}
              ref={volume}
              onHover={hover}
              onPick={(cell) => cursor.pin(to(cell))}
            />
          </Suspense>
        ) : (
          <TensorView
            ref={view}
            tensor={info}
            source={held.source}
            range={range}
            cursor={null}
            marks={NO_MARKS}
            arrangement={arrangement}
            onArrange={setArrangement}
            onHover={hover}
            onPick={(cell) => cursor.pin(to(cell))}
          />
        )}
      </div>
      {!held.whole && <p className="soft small">{w.notHeld(held.count)}</p>}
    </section>
  );
}

/** The room of a panel, the least that a cell needs, and what lies between tiles, in pixels. */
const ROOM = { width: 380, height: 240, cell: 9, gap: 10, label: 26 };

/** Tiles only where there is room for them; their axes get sliders else, which follow the cursor. */
function roomy({ wells, at }: Arrangement, shape: readonly number[]): Arrangement {
  const size = (place: Place): number => sizeIn(wells, place, shape);
  const { width, height, cell, gap, label } = ROOM;
  let roomier = wells;
  if (wells.across !== null && size("across") * (size("columns") * cell + gap) > width)
    roomier = moveAxis(roomier, wells.across, "sliders");
  if (wells.down !== null && size("down") * (size("rows") * cell + label) > height)
    roomier = moveAxis(roomier, wells.down, "sliders");
  return { wells: roomier, at };
}

function marksOf(
  lights: TensorLights | undefined,
  shape: readonly number[],
  { wells, at }: Arrangement,
  pinned: boolean,
): Mark[] {
  const marks: Mark[] = [];
  const add = (places: Iterable<number>, kind: Mark["kind"]): void => {
    for (const place of places) {
      if (marks.length >= MOST_MARKS) return;
      const cell = cellAt(place, shape);
      if (wells.sliders.every((axis) => cell[axis] === at[axis])) marks.push({ cell, kind });
    }
  };
  for (const [lit, kind] of KINDS) add(lights?.get(lit) ?? [], kind);
  add(lights?.get("here") ?? [], pinned ? "pinned" : "cursor");
  return marks;
}
