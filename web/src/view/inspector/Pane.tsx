import {
  type ClipboardEvent,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  useRef,
  useState,
} from "react";
import { item } from "../../model/action.ts";
import { nextBad } from "../../model/bad.ts";
import type { Json } from "../../model/document.ts";
import { placed } from "../../model/paste.ts";
import type { Range, RangeMode } from "../../model/shades.ts";
import { offsetIn, wholeBox } from "../../model/slices.ts";
import { type Arrangement, fitted } from "../../model/wells.ts";
import { shortSpec } from "../../model/words.ts";
import type { FoundBad } from "../../net/generated.ts";
import { live } from "../../state/live.ts";
import { type PageState, studio } from "../../state/store.ts";
import { act } from "../page.ts";
import { Icon } from "../shell/icons.tsx";
import { ui } from "../ui.ts";
import { type Cells, constantOf, readPasted } from "../widgets/constant.ts";
import { useTexts, useWords } from "../words.ts";
import { AxisSliders, AxisWells } from "./AxisWells.tsx";
import { CellLine } from "./CellLine.tsx";
import { asCsv, asNumpy, download } from "./copying.ts";
import { EditBar, type Paint } from "./EditBar.tsx";
import { ConstantList, RunList } from "./List.tsx";
import { Histogram, Statistics } from "./Statistics.tsx";
import { blockOf, type TensorSource } from "./source.ts";
import { nameOf, Table } from "./Table.tsx";
import { type Mark, type TensorInfo, TensorView, type TensorViewControl } from "./TensorView.tsx";
import { type Looked, numberIn } from "./tensor.ts";
import { useInspectorWords } from "./words.ts";

export type Way = "map" | "table" | "list";
const WAYS: readonly Way[] = ["map", "table", "list"];

export interface Cursor {
  readonly cell: readonly number[];
  /** Only tensors of the same shape have the same cell. */
  readonly shape: string;
}

interface Props {
  page: PageState;
  pin: string;
  /** How it is named, if not by its pin. */
  label?: string;
  /** Whether it is what two tensors differ by, which no block holds. */
  compares?: boolean;
  looked: Looked;
  range: Range;
  mode: RangeMode | "typed";
  cursor: Cursor | null;
  /** The cell that stays marked wherever the cursor goes. */
  picked: Cursor | null;
  /** What stands in the head: which tensor it is, and what can be done with it. */
  title: ReactNode;
  tools?: ReactNode;
  /** What stands beside the map, between colours and statistics. */
  beside?: ReactNode;
  onMode(mode: RangeMode): void;
  onRange(range: Range): void;
  onCursor(cursor: Cursor | null): void;
  /** Keeps a cell marked, or none. */
  onPick(cursor: Cursor | null): void;
}

/** One tensor: how its axes lie, its map, table or list, what it holds, and what can be changed. */
export function Pane(props: Props): ReactElement {
  const { page, pin, looked, cursor, range, label = pin, compares = false } = props;
  const w = useInspectorWords();
  const words = useWords();
  const { explain } = useTexts().commands;
  const view = useRef<TensorViewControl>(null);
  const typing = useRef<HTMLInputElement>(null);
  const [way, setWay] = useState<Way>("map");
  const [arranged, setArranged] = useState<Readonly<Record<string, Arrangement>>>({});
  const [paint, setPaint] = useState<Paint | null>(null);
  const stroke = useRef<Map<number, readonly number[]> | null>(null);
  const [, redraw] = useState(0);
  const [found, setFound] = useState<{ source: TensorSource; bad: FoundBad } | null>(null);
  const { info, source, measures, failed, cells } = looked;
  if (info === null || measures === null)
    return (
      <section className="pane" aria-label={label}>
        <header className="pane-head">
          {props.title}
          <span className="pane-tools">{props.tools}</span>
        </header>
        <p className="empty">{failed || w.waiting}</p>
      </section>
    );
  const key = info.axes.join(" ");
  const arrangement = fitted(arranged[key], info.shape, info.axes);
  const arrange = (next: Arrangement) => setArranged({ ...arranged, [key]: next });
  const shape = String(info.shape);
  const cell = cursor?.shape === shape ? cursor.cell : null;
  const kept = props.picked?.shape === shape ? props.picked.cell : null;
  const text = info.dtype === "string";
  const shown: Way = text || info.shape.includes(0) ? "list" : way;

  function edit(changes: readonly (readonly [cell: readonly number[], value: Json])[]) {
    if (!cells || !looked.tensor?.constant || changes.length === 0) return;
    const elements = [...cells.elements];
    for (const [at, value] of changes) elements[offsetIn(wholeBox(cells.shape), at)] = value;
    put({ ...cells, elements });
  }
  function put(next: Cells) {
    const now = studio.page(page.page);
    if (now && looked.tensor?.constant) act(looked.tensor.constant.put(now.document, constantOf(next)));
  }
  /** A block of a spreadsheet, from the cell at the cursor on. */
  function paste(event: ClipboardEvent) {
    if (!cells || !info || isField(event.target)) return;
    event.preventDefault();
    event.stopPropagation();
    const table = readPasted(event.clipboardData.getData("text/plain"), cells.dtype);
    edit(placed(table, cell ?? arrangement.at, arrangement.wells, cells.shape));
  }
  function painted(at: number[], phase: "start" | "on" | "end") {
    if (!cells || !paint) return;
    const met = phase === "start" ? new Map() : (stroke.current ?? new Map());
    if (at.length === cells.shape.length) met.set(offsetIn(wholeBox(cells.shape), at), at);
    // Several moves may come before the next picture, so the stroke itself grows.
    stroke.current = phase === "end" ? null : met;
    redraw((n) => n + 1);
    if (phase === "end") edit([...met.values()].map((each) => [each, paint.value]));
  }
  function pick(at: readonly number[]) {
    props.onPick({ cell: at, shape });
  }
  function goTo(at: readonly number[]) {
    pick(at);
    view.current?.reveal(at);
  }
  async function findBad() {
    if (cells) {
      const after = cell && offsetIn(wholeBox(cells.shape), cell);
      const next = nextBad(cells.elements.map(numberIn), cells.shape, after);
      if (next) goTo(next);
      return;
    }
    try {
      const next = await studio.findBad(page.page, pin, cell);
      setFound({ source, bad: next });
      if (next.cell) goTo(next.cell);
      else ui.say(w.noBad);
    } catch (error) {
      studio.notice("error", (error as Error).message);
    }
  }
  function keys(event: KeyboardEvent) {
    if (event.key === "Escape" && kept !== null && !event.defaultPrevented && !isField(event.target)) {
      event.preventDefault();
      props.onPick(null);
      return;
    }
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey && !compares;
    if (!plain || isField(event.target)) return;
    if (event.key.toLowerCase() === "n") {
      event.preventDefault();
      void findBad();
    } else if (cells && cell && shown === "map" && /^([1-9.]|F2)$/.test(event.key)) typing.current?.focus();
  }
  async function copy(as: typeof asCsv) {
    try {
      const { text: copied, whole } = await as(info as TensorInfo, source, arrangement);
      await navigator.clipboard.writeText(copied);
      ui.say(whole ? w.copied : w.copiedSlice);
    } catch (error) {
      studio.notice("error", (error as Error).message);
    }
  }
  function more(event: MouseEvent<HTMLElement>) {
    const { left, bottom } = event.currentTarget.getBoundingClientRect();
    ui.openMenu(w.more, { x: left, y: bottom + 4 }, [
      { id: "numpy", label: w.copyNumpy, run: () => void copy(asNumpy) },
      { id: "csv", label: w.copyCsv, run: () => void copy(asCsv) },
      { id: "npy", label: w.download, disabled: compares, run: () => download(page.page, pin) },
    ]);
  }
  const bad = found?.source === source ? found.bad : null;
  const hasBad = !compares && (measures.nans ?? 0) + (measures.infinities ?? 0) > 0;
  return (
    <section
      className={compares ? "pane compares" : "pane"}
      aria-label={label}
      onKeyDown={keys}
      onPaste={paste}
    >
      <header className="pane-head">
        {props.title}
        <span className="shape-chip">{shortSpec({ dtype: info.dtype, shape: [...info.shape] })}</span>
        {!cells && live(page.page).isStale(pin) && <span className="soft small">{words.stale}</span>}
        <span className="pane-tools">
          {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms. */}
          <span className="group" role="group" aria-label={w.ways}>
            {WAYS.filter((each) => each !== "list" || !compares).map((each) => (
              <button
                key={each}
                type="button"
                className="button"
                aria-pressed={each === shown}
                disabled={each !== "list" && shown === "list" && way !== "list"}
                onClick={() => setWay(each)}
              >
                {w.way[each]}
              </button>
            ))}
          </span>
          {!cells && !compares && (
            <button
              type="button"
              className="button icon plain"
              aria-label={explain}
              title={explain}
              onClick={() => ui.openExplain(blockOf(pin))}
            >
              <Icon name="spot" />
            </button>
          )}
          {props.tools}
          <button
            type="button"
            className="button icon plain"
            aria-label={w.more}
            aria-haspopup="menu"
            title={w.more}
            onClick={more}
          >
            <Icon name="more" />
          </button>
        </span>
      </header>
      <div className="pane-bars">
        {shown !== "list" && (
          <div className="pane-axes">
            <AxisWells tensor={info} arrangement={arrangement} onArrange={arrange} />
            <AxisSliders
              tensor={info}
              arrangement={arrangement}
              tiles={shown === "table"}
              onArrange={arrange}
            />
          </div>
        )}
        {cells && !text && (
          <EditBar
            cells={cells}
            hot={cell}
            paint={paint}
            onPaint={(next) => {
              setPaint(next);
              if (next) setWay("map");
            }}
            onPut={put}
          />
        )}
      </div>
      <div className="pane-body">
        <div className="pane-main">
          {shown === "map" && (
            <>
              <TensorView
                ref={view}
                tensor={info}
                source={source}
                range={range}
                cursor={cell}
                marks={marksOf(stroke.current, kept)}
                arrangement={arrangement}
                onArrange={arrange}
                onHover={(at) => props.onCursor(at && { cell: at, shape })}
                onPick={pick}
                {...(paint && { onPaint: painted })}
                onFailed={(message) => ui.say(message)}
              />
              <span className="map-zoom">
                {([1, -1, 0] as const).map((by) => (
                  <button
                    key={by}
                    type="button"
                    className="button icon"
                    aria-label={w.zoom[by]}
                    title={w.zoom[by]}
                    onClick={() => view.current?.zoom(by)}
                  >
                    <Icon name={by === 1 ? "plus" : by === -1 ? "minus" : "fit"} />
                  </button>
                ))}
              </span>
            </>
          )}
          {shown === "table" && (
            <Table
              tensor={info}
              source={source}
              arrangement={arrangement}
              cursor={cell}
              cells={cells}
              onCursor={(at) => {
                pick(at);
                const beyond = arrangement.at.some(
                  (place, axis) =>
                    axis !== arrangement.wells.rows &&
                    axis !== arrangement.wells.columns &&
                    place !== at[axis],
                );
                if (beyond) arrange({ ...arrangement, at });
              }}
              onEdit={edit}
            />
          )}
          {shown === "list" &&
            (cells ? <ConstantList cells={cells} onEdit={edit} /> : <RunList page={page.page} pin={pin} />)}
        </div>
        <aside className="pane-side">
          {!text && (
            <div className="colour-box">
              <Histogram measures={measures} range={range} onRange={props.onRange} />
              <label className="range-mode">
                <span>{w.colours}</span>
                <select
                  className="field"
                  value={props.mode}
                  onChange={(event) => props.onMode(event.target.value as RangeMode)}
                >
                  <option value="all">{w.range.all}</option>
                  <option value="most">{w.range.most}</option>
                  {props.mode === "typed" && <option value="typed">{w.range.typed}</option>}
                </select>
              </label>
              {hasBad && (
                <button type="button" className="button" onClick={() => void findBad()}>
                  {w.nextBad} <kbd>N</kbd>
                </button>
              )}
              {hasBad && bad?.first_pin && (
                <button
                  type="button"
                  className="button first-bad"
                  onClick={() => ui.reveal(item("block", blockOf(bad.first_pin as string)))}
                >
                  {w.firstBad(`${bad.first_pin}${nameOf(bad.first_cell ?? [])}`)}
                </button>
              )}
            </div>
          )}
          {props.beside}
          {!text && <Statistics measures={measures} />}
        </aside>
      </div>
      <CellLine
        field={typing}
        label={label}
        source={source}
        cell={cell}
        cells={cells}
        onEdit={(at, value) => edit([[at, value]])}
      />
    </section>
  );
}

/** The cells that are being painted, or the one that is kept. */
function marksOf(
  stroke: ReadonlyMap<number, readonly number[]> | null,
  kept: readonly number[] | null,
): readonly Mark[] {
  const cells = stroke ? [...stroke.values()] : kept ? [kept] : [];
  return cells.map((cell) => ({ cell, kind: "pinned" }));
}

function isField(target: EventTarget): boolean {
  return target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
}
