import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { item } from "../../model/action.ts";
import { type Arrangement, fitArrangement } from "../../model/axis-roles.ts";
import { type ConstantCells, constantOf } from "../../model/constant-cells.ts";
import type { Json } from "../../model/document.ts";
import { canBeNonFinite } from "../../model/nonfinite.ts";
import { pasteAt } from "../../model/pasted-table.ts";
import { fullSlice, offsetIn } from "../../model/slices.ts";
import { revealCell } from "../../model/tiles.ts";
import { hiddenAxes } from "../../model/voxels.ts";
import { cursor } from "../../state/cursor.ts";
import { type PageState, studio } from "../../state/store.ts";
import { dispatch } from "../active-page.ts";
import { scrollIntoView } from "../scroll-into-view.ts";
import { useInspectorStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { parsePasted } from "../widgets/constant.ts";
import { AxisRolePicker, AxisSliders } from "./AxisControls.tsx";
import { CellStatus } from "./CellStatus.tsx";
import { ColourRange, type ColourSettings } from "./ColourRange.tsx";
import { type Brush, EditBar } from "./EditBar.tsx";
import { ConstantList, OutputList } from "./ElementList.tsx";
import { type HeatmapControl, HeatmapView, type Mark } from "./HeatmapView.tsx";
import { PaneHead } from "./PaneHead.tsx";
import { panes, usePaneView, type ViewMode } from "./panes.ts";
import { Statistics } from "./Statistics.tsx";
import { formatIndex, Table } from "./Table.tsx";
import { blockOf } from "./tensor-source.ts";
import { useNonFinite } from "./useNonFinite.ts";
import type { InspectedTensor } from "./useTensor.ts";
import { VolumePane } from "./VolumePane.tsx";
import { ZoomButtons } from "./ZoomButtons.tsx";

/** The cursor in a pane: at a cell of its tensor, or of another tensor with the same shape. */
export interface PaneCursor {
  readonly cell: readonly number[] | null;
  readonly pinned: boolean;
}

interface Props {
  page: PageState;
  pin: string;
  /** The key of the pane's view in `usePanes`. */
  pane: number | string;
  /** The label, if not the pin. */
  label?: string;
  /** Whether it shows the difference of two tensors. */
  compares?: boolean;
  inspected: InspectedTensor;
  at: PaneCursor;
  colours: ColourSettings;
  /** The title of the header. */
  title: ReactNode;
  tools?: ReactNode;
  /** Content of the side panel above the colour range. */
  beside?: ReactNode;
}

/** One tensor: axis controls, heatmap, table, 3-D view or list, colour range, statistics, and editing of constants. */
export function Pane(props: Props): ReactElement {
  const { page, pin, pane, inspected, at, colours, label = pin, compares = false } = props;
  const t = useInspectorStrings();
  const common = useStrings();
  const view = useRef<HeatmapControl>(null);
  const typing = useRef<HTMLInputElement>(null);
  const { viewMode, arranged } = usePaneView(pane);
  const [brush, setBrush] = useState<Brush | null>(null);
  const stroke = useRef<Map<number, readonly number[]> | null>(null);
  const [, redraw] = useState(0);
  const { info, source, statistics, failed, cells } = inspected;
  const to = (cell: readonly number[]) => ({ page: page.page, pin, cell });
  const bad = useNonFinite(page.page, pin, inspected, (cell) => cursor.pin(to(cell)));
  // Scrolls to a cell that was pinned elsewhere.
  const pinnedCell = at.pinned ? at.cell : null;
  const reveal = useRef<(cell: readonly number[]) => void>(() => {});
  const pinnedKey = pinnedCell === null ? "" : pinnedCell.join();
  useEffect(() => {
    if (pinnedKey !== "") reveal.current(pinnedKey.split(",").map(Number));
  }, [pinnedKey]);
  // Memoised: a new arrangement object would fetch again.
  const key = info?.axes.join(" ") ?? "";
  const before = arranged[key];
  const arrangement = useMemo(() => info && fitArrangement(before, info.shape, info.axes), [before, info]);
  if (info === null || arrangement === null || statistics === null)
    return (
      <section className="pane" aria-label={label}>
        <header className="pane-head">
          {props.title}
          <span className="pane-tools">{props.tools}</span>
        </header>
        <p className="empty">{failed || t.loading}</p>
      </section>
    );
  const arrange = (next: Arrangement) => panes.setView(pane, { arranged: { ...arranged, [key]: next } });
  const { cell } = at;
  const text = info.dtype === "string";
  const empty = info.shape.includes(0);
  const shown: ViewMode = text || empty ? "list" : viewMode;
  const paint = brush?.pin === pin ? brush : null;
  reveal.current = (next) => {
    const seen = revealCell(arrangement, next);
    if (seen !== arrangement) arrange(seen);
    requestAnimationFrame(() => view.current?.reveal(next));
  };

  function edit(changes: readonly (readonly [cell: readonly number[], value: Json])[]) {
    if (!cells || !inspected.tensor?.constant || changes.length === 0) return;
    const elements = [...cells.elements];
    for (const [changed, value] of changes) elements[offsetIn(fullSlice(cells.shape), changed)] = value;
    put({ ...cells, elements });
  }
  function put(next: ConstantCells) {
    const now = studio.page(page.page);
    if (now && inspected.tensor?.constant)
      dispatch(inspected.tensor.constant.put(now.document, constantOf(next)));
  }
  /** Pastes a table of a spreadsheet at the cursor. */
  function paste(event: ClipboardEvent) {
    if (!cells || !arrangement || isField(event.target)) return;
    event.preventDefault();
    event.stopPropagation();
    const pasted = parsePasted(event.clipboardData.getData("text/plain"), cells.dtype, common);
    if ("error" in pasted) return studio.notice("error", pasted.error);
    const table = pasted.value;
    const changes = pasteAt(table, cell ?? arrangement.at, arrangement.roles, cells.shape);
    if (changes) edit(changes);
    else studio.notice("error", common.pasteOutside(table.length, table[0]?.length ?? 0));
  }
  function painted(met: number[], phase: "start" | "on" | "end") {
    if (!cells || !paint) return;
    const all = phase === "start" ? new Map() : (stroke.current ?? new Map());
    if (phase !== "end") all.set(offsetIn(fullSlice(cells.shape), met), met);
    // A ref, since several moves may come before the next render.
    stroke.current = phase === "end" ? null : all;
    redraw((n) => n + 1);
    if (phase === "end") edit([...all.values()].map((each) => [each, paint.value]));
  }
  function keys(event: KeyboardEvent) {
    if (event.key === "Escape" && pinnedCell !== null && !event.defaultPrevented && !isField(event.target)) {
      event.preventDefault();
      cursor.release();
      return;
    }
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey && !compares;
    if (!plain || isField(event.target)) return;
    if (event.key.toLowerCase() === "n") {
      event.preventDefault();
      void bad.find(cell);
    } else if (cells && cell && shown === "map" && /^([1-9.]|F2)$/.test(event.key)) {
      // A digit is typed into the field; F2 would rename the block.
      if (event.key === "F2") event.preventDefault();
      typing.current?.focus();
    }
  }
  const bads = (statistics.nans ?? 0) + (statistics.infinities ?? 0);
  const mayBeBad = canBeNonFinite(info.dtype) && (bads > 0 || statistics.sampled);
  const moves = {
    onHover: (met: number[] | null) => cursor.hover(met && to(met)),
    onMove: (met: number[]) => cursor.moveTo(to(met)),
    onPick: (met: number[]) => cursor.togglePin(to(met)),
    onFailed: (message: string) => ui.announce(message),
  };
  return (
    <section
      className={compares ? "pane compares" : "pane"}
      aria-label={label}
      onKeyDown={keys}
      onPaste={paste}
    >
      <PaneHead
        what={{ page: page.page, info, source, cells }}
        arrangement={arrangement}
        compares={compares}
        viewMode={shown}
        viewModes={shown === "list" && viewMode !== "list" ? ["list"] : undefined}
        onViewMode={(next) => panes.setView(pane, { viewMode: next })}
        title={props.title}
        tools={props.tools}
      />
      <div className="pane-bars">
        {shown !== "list" && (
          <div className="pane-axes">
            <AxisRolePicker tensor={info} arrangement={arrangement} onArrange={arrange} />
            <AxisSliders
              tensor={info}
              arrangement={arrangement}
              hidden={axesOnSliders(shown, arrangement, info.shape)}
              onArrange={arrange}
            />
          </div>
        )}
        {cells && !text && !empty && (
          <EditBar
            key={pin}
            pin={pin}
            cells={cells}
            hot={cell}
            paint={paint}
            onPaint={(next) => {
              setBrush(next);
              if (next) panes.setView(pane, { viewMode: "map" });
            }}
            onPut={put}
          />
        )}
      </div>
      <div className="pane-body">
        <div className="pane-main">
          {shown === "map" && (
            <>
              <HeatmapView
                ref={view}
                tensor={info}
                source={source}
                range={colours.range}
                cursor={cell}
                marks={marksOf(stroke.current, pinnedCell)}
                arrangement={arrangement}
                onArrange={arrange}
                {...moves}
                {...(paint && { onPaint: painted })}
              />
              <ZoomButtons onZoom={(by) => view.current?.zoom(by)} />
            </>
          )}
          {shown === "box" && (
            <VolumePane
              tensor={info}
              source={source}
              range={colours.range}
              cursor={cell}
              arrangement={arrangement}
              {...moves}
            />
          )}
          {shown === "table" && (
            <Table
              tensor={info}
              source={source}
              arrangement={arrangement}
              cursor={cell && revealCell(arrangement, cell) === arrangement ? cell : null}
              cells={cells}
              onMove={moves.onMove}
              onPick={(next) => cursor.pin(to(next))}
              onEdit={edit}
            />
          )}
          {empty && <p className="empty">{t.noCells}</p>}
          {shown === "list" &&
            !empty &&
            (cells ? (
              <ConstantList cells={cells} onEdit={edit} />
            ) : (
              <OutputList key={`${page.page} ${pin}`} page={page.page} pin={pin} />
            ))}
        </div>
        <aside className="pane-side">
          {props.beside}
          {!text && !empty && (
            <div className="colour-box">
              <ColourRange statistics={statistics} colours={colours} />
              {!compares && mayBeBad && (
                <button type="button" className="button" onClick={() => void bad.find(cell)}>
                  {bad.part === null ? t.nextNonFinite : t.stopScan(bad.part)} <kbd>N</kbd>
                </button>
              )}
              {!compares && bad.found?.first_pin && (
                <button
                  type="button"
                  ref={scrollIntoView}
                  className="button first-bad"
                  onClick={() => ui.reveal(item("block", blockOf(bad.found?.first_pin as string)))}
                >
                  {t.firstNonFinite(`${bad.found.first_pin}${formatIndex(bad.found.first_cell ?? [])}`)}
                </button>
              )}
            </div>
          )}
          {!text && <Statistics statistics={statistics} scan={inspected.scan} />}
        </aside>
      </div>
      {!empty && (
        <CellStatus
          field={typing}
          label={label}
          source={source}
          cell={cell}
          pinned={at.pinned}
          cells={cells}
          onRelease={() => cursor.release()}
          onEdit={(edited, value) => edit([[edited, value]])}
        />
      )}
    </section>
  );
}

/** Marks of the cells that are being painted, or of the pinned one. */
function marksOf(
  stroke: ReadonlyMap<number, readonly number[]> | null,
  pinnedCell: readonly number[] | null,
): readonly Mark[] {
  const cells = stroke ? [...stroke.values()] : pinnedCell ? [pinnedCell] : [];
  return cells.map((cell) => ({ cell, kind: "pinned" }));
}

/** The axes that need sliders. A table shows one tile, so its tile axes have sliders, too. */
function axesOnSliders(
  viewMode: ViewMode,
  { roles }: Arrangement,
  shape: readonly number[],
): readonly (number | null)[] {
  if (viewMode === "box") return hiddenAxes(roles, shape);
  return viewMode === "table" ? [roles.across, roles.down, ...roles.sliders] : roles.sliders;
}

function isField(target: EventTarget): boolean {
  return target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
}
