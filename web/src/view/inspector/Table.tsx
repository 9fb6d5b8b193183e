// biome-ignore-all lint/a11y/useSemanticElements: rows of a table cannot be put anywhere, and most are not there.
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and says which cell is meant.
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid has the keys.

import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactElement,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { Arrangement } from "../../model/axis-roles.ts";
import { type ConstantCells, formatCell, parseCellOrNumber } from "../../model/constant-cells.ts";
import type { Json } from "../../model/document.ts";
import { offsetIn, type TensorSlice } from "../../model/slices.ts";
import { CURSOR_KEYS, type CursorMove, cellWith, moveCursor, tileLayout } from "../../model/tiles.ts";
import { contentOffset, scrollLength, scrollOffset } from "../../model/virtual-scroll.ts";
import { elementText, type Frame } from "../../net/frames.ts";
import { useInspectorStrings, useStrings } from "../strings.ts";
import { cellRule } from "../widgets/constant.ts";
import type { TensorInfo } from "./HeatmapView.tsx";
import type { TensorSource } from "./tensor-source.ts";

const ROW = 24;
const COLUMN = 84;
const HEAD = 52;
const MARGIN = 4;

interface Props {
  tensor: TensorInfo;
  source: TensorSource;
  arrangement: Arrangement;
  cursor: readonly number[] | null;
  /** The cells of a constant, which are editable. */
  cells: ConstantCells | undefined;
  onMove(cell: number[]): void;
  onPick(cell: number[]): void;
  onEdit(changes: readonly (readonly [cell: readonly number[], value: Json])[]): void;
}

/** The shown slice as an accessible, virtualized grid. */
export function Table(props: Props): ReactElement {
  const { tensor, source, arrangement, cells } = props;
  const t = useInspectorStrings();
  const common = useStrings();
  const [id, rule] = [useId(), useId()];
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [view, setView] = useState({ x: 0, y: 0, left: 0, top: 0, width: 12 * COLUMN, height: 12 * ROW });
  const [typed, setTyped] = useState<string | null>(null);
  const { roles } = arrangement;
  // The table shows one tile: tile axes have sliders here.
  const slice = { ...arrangement, roles: { ...roles, across: null, down: null } };
  const tiles = tileLayout(tensor.shape, slice, { width: 1, height: 1 });
  const { rows, columns } = tiles;
  const at = (row: number, column: number) => cellWith(arrangement, { rows: row, columns: column });
  const here = props.cursor ?? arrangement.at;
  const [hereRow, hereColumn] = [roles.rows, roles.columns].map((axis) =>
    axis === null ? 0 : (here[axis] as number),
  ) as [number, number];
  const span = {
    row: Math.max(0, Math.floor(view.y / ROW) - MARGIN),
    rowEnd: Math.min(rows, Math.ceil((view.y + view.height) / ROW) + MARGIN),
    column: Math.max(0, Math.floor(view.x / COLUMN) - MARGIN),
    columnEnd: Math.min(columns, Math.ceil((view.x + view.width) / COLUMN) + MARGIN),
  };
  const textOf = useCellTexts(source, tensor, arrangement, span);

  const [long, high] = [columns * COLUMN, rows * ROW];
  /** Reads the scroll position. */
  const readScroll = useCallback(() => {
    const element = box.current;
    if (element === null) return;
    const { scrollLeft: left, scrollTop: top } = element;
    const [width, height] = [element.clientWidth - HEAD, element.clientHeight - ROW];
    setView((before) => ({
      x: contentOffset(left, long, width, before.x),
      y: contentOffset(top, high, height, before.y),
      left,
      top,
      width,
      height,
    }));
  }, [long, high]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    readScroll();
    const watch = new ResizeObserver(readScroll);
    watch.observe(element);
    element.addEventListener("scroll", readScroll);
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", readScroll);
    };
  }, [readScroll]);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const [width, height] = [element.clientWidth - HEAD, element.clientHeight - ROW];
    const into = (start: number, length: number, from: number, size: number) =>
      from < start ? from : from + size > start + length ? from + size - length : start;
    setView((before) => {
      const x = into(before.x, width, hereColumn * COLUMN, COLUMN);
      const y = into(before.y, height, hereRow * ROW, ROW);
      if (x === before.x && y === before.y) return before;
      element.scrollLeft = scrollOffset(x, long, width);
      element.scrollTop = scrollOffset(y, high, height);
      return { x, y, width, height, left: element.scrollLeft, top: element.scrollTop };
    });
  }, [hereRow, hereColumn, long, high]);

  const value = (cell: readonly number[]): string => {
    if (!cells) return textOf(cell);
    const place = offsetIn(
      cells.shape.map((end) => ({ first: 0, end, step: 1 })),
      cell,
    );
    return formatCell(cells.elements[place]);
  };
  const go = (step: CursorMove) => props.onMove(moveCursor(tiles, here, step));
  const read = typed === null || !cells ? undefined : parseCellOrNumber(typed, cells.dtype);
  function commit(): boolean {
    if (typed === null) return true;
    if (read === undefined) {
      input.current?.focus();
      return false;
    }
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
    const step = CURSOR_KEYS[event.key];
    if (step !== undefined) {
      const far = event.ctrlKey && (step === "first" || step === "last");
      go(far ? (step === "first" ? "start" : "end") : step);
    } else if (event.key === "PageDown" || event.key === "PageUp") {
      const row =
        hereRow + (event.key === "PageDown" ? 1 : -1) * Math.max(1, Math.floor(view.height / ROW) - 1);
      props.onMove(moved(here, roles.rows, Math.min(Math.max(row, 0), rows - 1)));
    } else if (cells && (event.key === "Enter" || event.key === "F2")) setTyped(value(here));
    else if (cells && (event.key === "Delete" || event.key === "Backspace")) {
      const zero = parseCellOrNumber("0", cells.dtype);
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
  const leftOf = (column: number) => HEAD + column * COLUMN - view.x + view.left;
  const topOf = (row: number) => ROW + row * ROW - view.y + view.top;
  const [rowAxis, columnAxis] = [axisName(tensor, roles.rows), axisName(tensor, roles.columns)];
  return (
    <>
      <div
        ref={box}
        className="tensor-table"
        role="grid"
        aria-label={t.tableOf(tensor.pin)}
        aria-rowcount={rows + 1}
        aria-colcount={columns + 1}
        aria-readonly={cells === undefined}
        aria-activedescendant={cellId(hereRow, hereColumn)}
        tabIndex={0}
        onKeyDown={key}
        onCopy={copy}
      >
        <div
          className="table-space"
          style={{ width: HEAD + scrollLength(long), height: ROW + scrollLength(high) }}
        >
          <div role="row" className="table-row table-head" aria-rowindex={1}>
            <span role="columnheader" className="table-corner" aria-colindex={1}>
              {rowAxis}\{columnAxis}
            </span>
            {shownColumns.map((column) => (
              <span
                key={column}
                role="columnheader"
                aria-colindex={column + 2}
                aria-label={t.indexLabel(columnAxis, column)}
                style={{ left: leftOf(column) }}
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
              style={{ top: topOf(row) }}
            >
              <span role="rowheader" aria-colindex={1} aria-label={t.indexLabel(rowAxis, row)}>
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
                    style={{ left: leftOf(column) }}
                    onClick={() => {
                      if (active && typed !== null) return;
                      if (commit()) props.onPick(cell);
                    }}
                    onDoubleClick={() => cells && setTyped(value(cell))}
                  >
                    {active && typed !== null ? (
                      <input
                        ref={input}
                        className="table-input"
                        // biome-ignore lint/a11y/noAutofocus: it stands where one types.
                        autoFocus
                        aria-label={formatIndex(cell)}
                        aria-invalid={read === undefined}
                        aria-describedby={read === undefined ? rule : undefined}
                        value={typed}
                        onChange={(event) => setTyped(event.target.value)}
                        onBlur={() => read !== undefined && commit()}
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
      {typed !== null && read === undefined && (
        <p className="table-rule" role="alert" id={rule}>
          {cellRule(cells?.dtype, common)}
        </p>
      )}
    </>
  );
}

function axisName(tensor: TensorInfo, axis: number | null): string {
  return axis === null ? "" : (tensor.axes[axis] as string);
}

export function formatIndex(cell: readonly number[]): string {
  return `[${cell.join(", ")}]`;
}

function moved(cell: readonly number[], axis: number | null, place: number): number[] {
  return cell.map((old, each) => (each === axis ? place : old));
}

/** The texts of the visible cells; an ellipsis while they load. */
function useCellTexts(
  source: TensorSource,
  tensor: TensorInfo,
  arrangement: Arrangement,
  span: { row: number; rowEnd: number; column: number; columnEnd: number },
): (cell: readonly number[]) => string {
  const [last, setLast] = useState<{ source: TensorSource; box: TensorSlice; frame: Frame } | null>(null);
  // Values of another tensor are never shown.
  const held = last?.source === source ? last : null;
  const [turn, setTurn] = useState(0);
  useEffect(() => source.onChange(() => setTurn((n) => n + 1)), [source]);
  const { roles, at } = arrangement;
  const box: TensorSlice = tensor.shape.map((_, axis) => {
    if (axis === roles.rows) return { first: span.row, end: span.rowEnd, step: 1 };
    if (axis === roles.columns) return { first: span.column, end: span.columnEnd, step: 1 };
    return { first: at[axis] as number, end: (at[axis] as number) + 1, step: 1 };
  });
  const key = JSON.stringify(box);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again whenever there are new numbers.
  useEffect(() => {
    let wanted = true;
    const asked = JSON.parse(key) as TensorSlice;
    source.numbers(asked).then(
      (frame) => wanted && setLast({ source, box: asked, frame }),
      () => wanted && setLast(null),
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
