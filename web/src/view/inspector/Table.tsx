// biome-ignore-all lint/a11y/useSemanticElements: rows of a table cannot be put anywhere, and most are not there.
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and says which cell is meant.
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid has the keys.

import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactElement,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { Json } from "../../model/document.ts";
import { type Box, offsetIn } from "../../model/slices.ts";
import { cellIn, type Step, stepped, tilesOf } from "../../model/tiles.ts";
import type { Arrangement } from "../../model/wells.ts";
import { elementText, type Frame } from "../../net/frames.ts";
import { type Cells, readCell, shownCell } from "../widgets/constant.ts";
import type { TensorSource } from "./source.ts";
import type { TensorInfo } from "./TensorView.tsx";
import { useInspectorWords } from "./words.ts";

const ROW = 24;
const COLUMN = 84;
const HEAD = 52;
/** Browsers have no longer elements. */
const LONGEST = 8_000_000;
const MARGIN = 4;

interface Props {
  tensor: TensorInfo;
  source: TensorSource;
  arrangement: Arrangement;
  cursor: readonly number[] | null;
  /** What can be edited, if it can. */
  cells: Cells | undefined;
  onCursor(cell: number[]): void;
  onEdit(changes: readonly (readonly [cell: readonly number[], value: Json])[]): void;
}

const STEPS: Readonly<Record<string, Step>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "first",
  End: "last",
};

/** The rows and columns of the slice that is shown, as a grid that can be heard; only what is seen of it exists. */
export function Table(props: Props): ReactElement {
  const { tensor, source, arrangement, cells } = props;
  const w = useInspectorWords();
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ row: 0, rows: 12, column: 0, columns: 12 });
  const [typed, setTyped] = useState<string | null>(null);
  const { wells } = arrangement;
  const tiles = tilesOf(tensor.shape, arrangement, { width: 1, height: 1 });
  const rows = Math.min(tiles.rows, Math.floor(LONGEST / ROW));
  const columns = Math.min(tiles.columns, Math.floor(LONGEST / COLUMN));
  const at = (row: number, column: number) => cellIn(arrangement, { rows: row, columns: column });
  const here = props.cursor ?? arrangement.at;
  const [hereRow, hereColumn] = [wells.rows, wells.columns].map((axis) =>
    axis === null ? 0 : (here[axis] as number),
  ) as [number, number];
  const span = {
    row: Math.max(0, seen.row - MARGIN),
    rowEnd: Math.min(rows, seen.row + seen.rows + MARGIN),
    column: Math.max(0, seen.column - MARGIN),
    columnEnd: Math.min(columns, seen.column + seen.columns + MARGIN),
  };
  const textOf = useTexts(source, tensor, arrangement, span);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = () =>
      setSeen({
        row: Math.floor(element.scrollTop / ROW),
        rows: Math.ceil(element.clientHeight / ROW),
        column: Math.floor(element.scrollLeft / COLUMN),
        columns: Math.ceil(element.clientWidth / COLUMN),
      });
    look();
    const watch = new ResizeObserver(look);
    watch.observe(element);
    element.addEventListener("scroll", look);
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const into = (start: number, length: number, from: number, size: number) =>
      from < start ? from : from + size > start + length ? from + size - length : start;
    element.scrollTop = into(element.scrollTop, element.clientHeight - ROW, hereRow * ROW, ROW);
    element.scrollLeft = into(element.scrollLeft, element.clientWidth - HEAD, hereColumn * COLUMN, COLUMN);
  }, [hereRow, hereColumn]);

  const value = (cell: readonly number[]): string => {
    if (!cells) return textOf(cell);
    const place = offsetIn(
      cells.shape.map((end) => ({ first: 0, end, step: 1 })),
      cell,
    );
    return shownCell(cells.elements[place]);
  };
  const go = (step: Step) => props.onCursor(stepped(tiles, here, step));
  const read = typed === null || !cells ? undefined : readCell(typed, cells.dtype);
  function commit(): boolean {
    if (typed === null) return true;
    if (read === undefined) return false;
    if (typed !== value(here)) props.onEdit([[here, read]]);
    setTyped(null);
    box.current?.focus();
    return true;
  }
  function key(event: KeyboardEvent) {
    if (event.altKey || event.metaKey) return;
    if (typed !== null) {
      if (event.key === "Enter" && commit()) go("down");
      else if (event.key === "Tab" && commit()) go(event.shiftKey ? "left" : "right");
      else if (event.key === "Escape") {
        setTyped(null);
        box.current?.focus();
      } else return;
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const step = STEPS[event.key];
    if (step !== undefined) {
      const far = event.ctrlKey && (step === "first" || step === "last");
      go(far ? (step === "first" ? "start" : "end") : step);
    } else if (event.key === "PageDown" || event.key === "PageUp") {
      const row = hereRow + (event.key === "PageDown" ? 1 : -1) * Math.max(1, seen.rows - 2);
      props.onCursor(moved(here, wells.rows, Math.min(Math.max(row, 0), rows - 1)));
    } else if (cells && (event.key === "Enter" || event.key === "F2")) setTyped(value(here));
    else if (cells && (event.key === "Delete" || event.key === "Backspace")) {
      const zero = readCell("0", cells.dtype);
      if (zero !== undefined) props.onEdit([[here, zero]]);
    } else if (cells && /^[\d.+-]$/.test(event.key) && !event.ctrlKey) setTyped(event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  function copy(event: ClipboardEvent) {
    if (typed !== null) return;
    event.preventDefault();
    event.stopPropagation();
    event.clipboardData.setData("text/plain", value(here));
  }
  const cellId = (row: number, column: number) => `${id}-${row}-${column}`;
  const shownRows = Array.from({ length: span.rowEnd - span.row }, (_, i) => span.row + i);
  const shownColumns = Array.from({ length: span.columnEnd - span.column }, (_, i) => span.column + i);
  return (
    <div
      ref={box}
      className="tensor-table"
      role="grid"
      aria-label={w.tableOf(tensor.pin)}
      aria-rowcount={tiles.rows + 1}
      aria-colcount={tiles.columns + 1}
      aria-readonly={cells === undefined}
      aria-activedescendant={cellId(hereRow, hereColumn)}
      tabIndex={0}
      onKeyDown={key}
      onCopy={copy}
    >
      <div className="table-space" style={{ width: HEAD + columns * COLUMN, height: ROW + rows * ROW }}>
        <div role="row" className="table-row table-head" aria-rowindex={1}>
          <span role="columnheader" className="table-corner" aria-colindex={1}>
            {axisName(tensor, wells.rows)}\{axisName(tensor, wells.columns)}
          </span>
          {shownColumns.map((column) => (
            <span
              key={column}
              role="columnheader"
              aria-colindex={column + 2}
              style={{ left: HEAD + column * COLUMN }}
            >
              {column}
            </span>
          ))}
        </div>
        {shownRows.map((row) => (
          <div
            key={row}
            role="row"
            className="table-row"
            aria-rowindex={row + 2}
            style={{ top: ROW + row * ROW }}
          >
            <span role="rowheader" aria-colindex={1}>
              {row}
            </span>
            {shownColumns.map((column) => {
              const active = row === hereRow && column === hereColumn;
              const cell = at(row, column);
              return (
                <span
                  key={column}
                  id={cellId(row, column)}
                  role="gridcell"
                  aria-colindex={column + 2}
                  aria-selected={active}
                  className={active ? "table-cell active" : "table-cell"}
                  style={{ left: HEAD + column * COLUMN }}
                  onClick={() => {
                    if (active && typed !== null) return;
                    if (commit()) props.onCursor(cell);
                  }}
                  onDoubleClick={() => cells && setTyped(value(cell))}
                >
                  {active && typed !== null ? (
                    <input
                      className="table-input"
                      // biome-ignore lint/a11y/noAutofocus: it stands where one types.
                      autoFocus
                      aria-label={nameOf(cell)}
                      aria-invalid={read === undefined}
                      value={typed}
                      onChange={(event) => setTyped(event.target.value)}
                      onBlur={() => (commit() ? undefined : setTyped(null))}
                    />
                  ) : (
                    value(cell)
                  )}
                </span>
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
}

function axisName(tensor: TensorInfo, axis: number | null): string {
  return axis === null ? "" : (tensor.axes[axis] as string);
}

export function nameOf(cell: readonly number[]): string {
  return `[${cell.join(", ")}]`;
}

function moved(cell: readonly number[], axis: number | null, place: number): number[] {
  return cell.map((old, each) => (each === axis ? place : old));
}

/** The texts of the cells in a span, once they have come; what is not here yet is an ellipsis. */
function useTexts(
  source: TensorSource,
  tensor: TensorInfo,
  arrangement: Arrangement,
  span: { row: number; rowEnd: number; column: number; columnEnd: number },
): (cell: readonly number[]) => string {
  const [held, setHeld] = useState<{ box: Box; frame: Frame } | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => source.onChange(() => setTurn((n) => n + 1)), [source]);
  const { wells, at } = arrangement;
  const box: Box = tensor.shape.map((_, axis) => {
    if (axis === wells.rows) return { first: span.row, end: span.rowEnd, step: 1 };
    if (axis === wells.columns) return { first: span.column, end: span.columnEnd, step: 1 };
    return { first: at[axis] as number, end: (at[axis] as number) + 1, step: 1 };
  });
  const key = JSON.stringify(box);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again whenever there are new numbers.
  useEffect(() => {
    let wanted = true;
    const asked = JSON.parse(key) as Box;
    source.numbers(asked).then(
      (frame) => wanted && setHeld({ box: asked, frame }),
      () => wanted && setHeld(null),
    );
    return () => {
      wanted = false;
    };
  }, [source, key, turn]);
  return (cell) => {
    const place = held === null ? -1 : offsetIn(held.box, cell);
    return held === null || place < 0 ? "…" : elementText(held.frame, place);
  };
}
