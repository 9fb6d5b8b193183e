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
import {
  type Arrangement,
  defaultArrangement,
  fitArrangement,
  type GridRole,
  moveAxis,
  roleSize,
} from "../../model/axis-roles.ts";
import type { Range } from "../../model/colour-index.ts";
import type { CellOffsets, HighlightKind } from "../../model/highlights.ts";
import { unravelIndex } from "../../model/indexing.ts";
import { revealCell } from "../../model/tiles.ts";
import { hiddenAxes, withVoxelAxes } from "../../model/voxels.ts";
import { retryLoad } from "../../net/retry.ts";
import { cursor } from "../../state/cursor.ts";
import { AxisRolePicker, AxisSliders } from "../inspector/AxisControls.tsx";
import { type HeatmapControl, HeatmapView, type Mark } from "../inspector/HeatmapView.tsx";
import { useExplainStrings } from "../strings.ts";
import type { LoadedTensor } from "./explanation.ts";

const Volume = lazy(() => retryLoad(() => import("../inspector/VolumeView.tsx")));

export type TensorHighlights = ReadonlyMap<HighlightKind, CellOffsets>;

/** The control of a tensor panel. */
export interface PanelControl {
  highlight(highlights: TensorHighlights | undefined, pinned: boolean): void;
  /** Scrolls to a highlighted cell, unless one is visible. */
  reveal(highlights: TensorHighlights): void;
  focus(): void;
}

interface Props {
  page: number;
  held: LoadedTensor;
  axes: readonly string[];
  name: string;
  role: string;
  range: Range;
  control: (control: PanelControl | null) => void;
}

const KINDS: readonly (readonly [HighlightKind, Mark["kind"]])[] = [
  ["feeds", "feeds"],
  ["from", "from"],
  ["tie", "tie"],
  ["winner", "winner"],
];
/** The most marks that are drawn. */
const MAX_MARKS = 1 << 14;
const NO_MARKS: readonly Mark[] = [];

/** One tensor of Explain: name, axis controls, and heatmap or 3-D view. */
export function TensorPanel({ page, held, axes, name, role, range, control }: Props): ReactElement {
  const t = useExplainStrings();
  const { tensor } = held;
  const info = useMemo(() => ({ ...tensor, axes }), [tensor, axes]);
  const [own, setArrangement] = useState<Arrangement>(() =>
    roomy(defaultArrangement(tensor.shape, axes), tensor.shape),
  );
  const [solid, setSolid] = useState(false);
  const arrangement = useMemo(() => {
    const fitting = fitArrangement(own, tensor.shape, axes);
    return solid ? withVoxelAxes(fitting, tensor.shape, axes) : fitting;
  }, [own, tensor.shape, axes, solid]);
  const hidden = solid ? hiddenAxes(arrangement.roles, tensor.shape) : arrangement.roles.sliders;
  const now = useRef({ arrangement, hidden });
  now.current = { arrangement, hidden };
  const [rolesOpen, setRolesOpen] = useState(false);
  const view = useRef<HeatmapControl>(null);
  const volume = useRef<{ highlight(highlights: TensorHighlights | undefined): void }>(null);
  const last = useRef<{ highlights: TensorHighlights | undefined; pinned: boolean }>({
    highlights: undefined,
    pinned: false,
  });
  const byKey = useRef(false);

  /** Takes over the slice indices only: the 3-D view may have other axis roles than the heatmap. */
  const slide = ({ at }: Arrangement) =>
    setArrangement((before) => ({ roles: fitArrangement(before, tensor.shape, axes).roles, at }));
  const panel: PanelControl = {
    highlight(highlights, pinned) {
      last.current = { highlights, pinned };
      view.current?.mark(marksOf(highlights, tensor.shape, now.current.arrangement, pinned));
      volume.current?.highlight(highlights);
    },
    reveal(highlights) {
      // The cell itself or the winner must be visible; of the others one is enough.
      const first = (["here", "winner"] as const).find((how) => highlights.get(how)?.length);
      const offsets = (first ? [first] : (["feeds", "from"] as const)).flatMap((how) => [
        ...(highlights.get(how) ?? []),
      ]);
      const { arrangement, hidden } = now.current;
      const seen = (offset: number): boolean => {
        const cell = unravelIndex(offset, tensor.shape);
        return hidden.every((axis) => cell[axis] === arrangement.at[axis]);
      };
      const [one] = offsets;
      if (one === undefined || offsets.slice(0, MAX_MARKS).some(seen)) return;
      if (view.current) view.current.reveal(unravelIndex(one, tensor.shape));
      else slide(revealCell(arrangement, unravelIndex(one, tensor.shape)));
    },
    focus: () => view.current?.focus(),
  };
  useImperativeHandle(control, () => panel);
  // Marks depend on the visible slice.
  useEffect(() => panel.highlight(last.current.highlights, last.current.pinned));

  const to = (cell: readonly number[]) => ({ page, pin: tensor.pin, cell });
  function hover(cell: number[] | null) {
    if (cell === null) return;
    if (byKey.current && cursor.pinned) cursor.moveTo(to(cell));
    else cursor.hover(to(cell));
  }
  return (
    <section
      className={held.count === 1 ? "explain-tensor single" : "explain-tensor"}
      // A small tensor leaves its room to those beside it.
      style={{ flexGrow: Math.max(2, shownColumns(arrangement, tensor.shape)) }}
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
            aria-expanded={rolesOpen}
            onClick={() => setRolesOpen(!rolesOpen)}
          >
            {t.axes}
          </button>
        )}
        {tensor.shape.length > 2 && (
          <button
            type="button"
            className="button small"
            aria-pressed={solid}
            onClick={() => setSolid(!solid)}
          >
            {solid ? t.asHeatmap : t.asVolume}
          </button>
        )}
      </header>
      {rolesOpen && <AxisRolePicker tensor={info} arrangement={arrangement} onArrange={setArrangement} />}
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
              highlights={last.current.highlights}
              ref={volume}
              onHover={hover}
              onPick={(cell) => cursor.togglePin(to(cell))}
            />
          </Suspense>
        ) : (
          <HeatmapView
            ref={view}
            tensor={info}
            source={held.source}
            range={range}
            cursor={null}
            marks={NO_MARKS}
            arrangement={arrangement}
            onArrange={setArrangement}
            onHover={hover}
            onPick={(cell) => cursor.togglePin(to(cell))}
          />
        )}
      </div>
      {!held.whole && <p className="soft small">{t.notHeld(held.count)}</p>}
    </section>
  );
}

/** The columns of all tiles side by side, and of the gaps between them. */
export function shownColumns({ roles }: Arrangement, shape: readonly number[]): number {
  return Math.min(64, roleSize(roles, "across", shape) * (roleSize(roles, "columns", shape) + 1));
}

/** The width of a panel, the least width of a cell, and the gap between tiles, in pixels. */
const ROOM = { width: 380, height: 240, cell: 9, gap: 10, label: 26 };

/** Moves axes from tiles to sliders, which follow the cursor, where there is no room for tiles. */
function roomy({ roles, at }: Arrangement, shape: readonly number[]): Arrangement {
  const size = (offset: GridRole): number => roleSize(roles, offset, shape);
  const { width, height, cell, gap, label } = ROOM;
  let roomier = roles;
  if (roles.across !== null && size("across") * (size("columns") * cell + gap) > width)
    roomier = moveAxis(roomier, roles.across, "sliders");
  if (roles.down !== null && size("down") * (size("rows") * cell + label) > height)
    roomier = moveAxis(roomier, roles.down, "sliders");
  return { roles: roomier, at };
}

function marksOf(
  highlights: TensorHighlights | undefined,
  shape: readonly number[],
  { roles, at }: Arrangement,
  pinned: boolean,
): Mark[] {
  const marks: Mark[] = [];
  const add = (offsets: Iterable<number>, kind: Mark["kind"]): void => {
    for (const offset of offsets) {
      if (marks.length >= MAX_MARKS) return;
      const cell = unravelIndex(offset, shape);
      if (roles.sliders.every((axis) => cell[axis] === at[axis])) marks.push({ cell, kind });
    }
  };
  for (const [highlighted, kind] of KINDS) add(highlights?.get(highlighted) ?? [], kind);
  add(highlights?.get("here") ?? [], pinned ? "pinned" : "cursor");
  return marks;
}
