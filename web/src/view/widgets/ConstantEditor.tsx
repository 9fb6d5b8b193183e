import { type ClipboardEvent, type KeyboardEvent, type ReactElement, useId, useState } from "react";
import {
  type ConstantCells,
  cellsOf,
  constantOf,
  formatCell,
  MAX_CELLS,
  parseCellOrNumber,
  reshaped,
  retyped,
} from "../../model/constant-cells.ts";
import type { Json } from "../../model/document.ts";
import { elementCount, ravelIndex } from "../../model/indexing.ts";
import { ALL_DTYPES } from "../../model/ops.ts";
import { PRESETS } from "../../model/presets.ts";
import { parseWholeNumbers } from "../../model/whole-numbers.ts";
import { studio } from "../../state/store.ts";
import { useStrings } from "../strings.ts";
import { formatList } from "./attr-text.ts";
import { filled, type GridAxes, gridAxes, parseNested, parsePasted } from "./constant.ts";
import { ValidatedField } from "./ValidatedField.tsx";

const MAX_SHOWN = 64;

interface Props {
  label: string;
  value: Json | undefined;
  /** Whether the dtype may be inferred. */
  free: boolean;
  onChange(value: Json): void;
}

/** The editor of a constant: dtype, shape, fill presets, a grid of two axes, sliders for the others, and text. */
export function ConstantEditor({ label, value, free, onChange }: Props): ReactElement {
  const t = useStrings();
  const heading = useId();
  const [at, setAt] = useState<number[]>([]);
  const cells =
    cellsOf(value) ??
    (value === undefined ? { dtype: free ? undefined : "float32", shape: [], elements: [0] } : undefined);
  if (cells === undefined) return <p className="soft">{t.constantInFile}</p>;
  const { dtype, shape } = cells;
  const put = (next: ConstantCells) => onChange(constantOf(next));
  const axes = gridAxes(shape);
  const now = shape.map((size, axis) => Math.min(at[axis] ?? 0, Math.max(size - 1, 0)));

  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    <div className="constant" role="group" aria-label={label}>
      <div className="constant-head">
        <select
          className="field"
          aria-label={t.elementType}
          value={dtype ?? ""}
          onChange={(event) =>
            put(retyped(cells, event.target.value === "" ? undefined : event.target.value))
          }
        >
          {free && <option value="">{t.inferredType}</option>}
          {ALL_DTYPES.filter((each) => each !== "resource").map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <ValidatedField<number[]>
          label={t.shape}
          value={shape}
          format={formatList}
          hint={t.scalar}
          read={(text) => {
            const sizes = parseWholeNumbers(text);
            if (sizes === undefined || sizes.some((n) => (n as number) < 0))
              return { error: t.aListOf("ints") };
            if (elementCount(sizes as number[]) > MAX_CELLS) return { error: t.tooLarge };
            return { value: sizes as number[] };
          }}
          onChange={(sizes) =>
            put(reshaped(cells, sizes, dtype === "bool" ? false : dtype === "string" ? "" : 0))
          }
        />
      </div>
      <div className="constant-fill">
        {PRESETS.map((fill) => (
          <button key={fill} type="button" className="button" onClick={() => put(filled(cells, fill))}>
            {t.fill[fill]}
          </button>
        ))}
      </div>
      {axes.others
        .filter((axis) => shape[axis] !== 1)
        .map((axis) => (
          <label className="slice" key={axis}>
            <span className="mono">{t.axis(axis)}</span>
            <input
              type="range"
              min={0}
              max={Math.max((shape[axis] as number) - 1, 0)}
              value={now[axis]}
              onChange={(event) => setAt(now.with(axis, Number(event.target.value)))}
            />
            <span className="mono">{now[axis]}</span>
          </label>
        ))}
      <span id={heading} className="hidden">
        {label}
      </span>
      <CellGrid cells={cells} axes={axes} at={now} labelledBy={heading} onChange={put} />
      <ValidatedField<ConstantCells>
        label={t.asText}
        className="mono"
        value={cells}
        format={(each) => JSON.stringify(plain(constantOf({ ...each, dtype: undefined })))}
        read={(text) => {
          const read = parseNested(text, dtype);
          return read === undefined ? { error: t.nestedLists } : { value: read };
        }}
        onChange={put}
      />
    </div>
  );
}

function plain(value: Json): unknown {
  if (Array.isArray(value)) return value.map(plain);
  const text = formatCell(value);
  return typeof value === "number" || typeof value === "boolean"
    ? value
    : /^-?[\d.]+$/.test(text)
      ? Number(text)
      : text;
}

interface CutProps {
  cells: ConstantCells;
  axes: GridAxes;
  /** The indices of the axes that the grid does not show. */
  at: readonly number[];
  labelledBy: string;
  onChange(cells: ConstantCells): void;
}

/** The grid of two axes. Arrows move between cells; a pasted table fills them. */
function CellGrid({ cells, axes, at, labelledBy, onChange }: CutProps): ReactElement {
  const t = useStrings();
  const { shape, dtype, elements } = cells;
  const rows = shape[axes.row ?? -1] ?? 1;
  const columns = shape[axes.column ?? -1] ?? 1;
  const placeAt = (row: number, column: number) =>
    at.map((place, axis) => (axis === axes.row ? row : axis === axes.column ? column : place));
  const set = (places: [number, Json][]) => {
    const next = [...elements];
    for (const [place, cell] of places) next[place] = cell;
    onChange({ ...cells, elements: next });
  };

  function move(event: KeyboardEvent<HTMLTableElement>) {
    const steps: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], Enter: [1, 0] };
    const step = steps[event.key];
    const input = event.target as HTMLInputElement;
    if (step === undefined || input.dataset.row === undefined) return;
    const row = Number(input.dataset.row) + step[0];
    const next = event.currentTarget.querySelector<HTMLInputElement>(
      `[data-row="${row}"][data-column="${input.dataset.column}"]`,
    );
    next?.focus();
    if (event.key !== "Enter") event.preventDefault();
  }
  function paste(event: ClipboardEvent, row: number, column: number) {
    const text = event.clipboardData.getData("text/plain").trimEnd();
    if (!/[\t\r\n,;]/.test(text)) return;
    event.preventDefault();
    const pasted = parsePasted(text, dtype, t);
    if ("error" in pasted) return studio.notice("error", pasted.error);
    const table = pasted.value;
    const [high, wide] = [table.length, table[0]?.length ?? 0];
    if (row + high > rows || column + wide > columns)
      return studio.notice("error", t.pasteOutside(high, wide));
    set(
      table.flatMap((line, dy) =>
        line.map((cell, dx): [number, Json] => [ravelIndex(placeAt(row + dy, column + dx), shape), cell]),
      ),
    );
  }
  return (
    <div className="grid-scroll">
      <table className="grid" aria-labelledby={labelledBy} onKeyDown={move}>
        <tbody>
          {Array.from({ length: Math.min(rows, MAX_SHOWN) }, (_, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place.
            <tr key={row}>
              {Array.from({ length: Math.min(columns, MAX_SHOWN) }, (_, column) => {
                const place = placeAt(row, column);
                const index = ravelIndex(place, shape);
                return (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place.
                  <td key={column} onPaste={(event) => paste(event, row, column)}>
                    <Cell
                      label={place.map((i) => `[${i}]`).join("") || t.scalar}
                      value={elements[index] ?? 0}
                      dtype={dtype}
                      row={row}
                      column={column}
                      onChange={(cell) => set([[index, cell]])}
                    />
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {(rows > MAX_SHOWN || columns > MAX_SHOWN) && (
        <p className="soft small">{t.gridTruncated(MAX_SHOWN)}</p>
      )}
    </div>
  );
}

interface CellProps {
  label: string;
  value: Json;
  dtype: string | undefined;
  row: number;
  column: number;
  onChange(cell: Json): void;
}

function Cell({ label, value, dtype, row, column, onChange }: CellProps): ReactElement {
  const [typed, setTyped] = useState<string | null>(null);
  const read = typed === null ? value : parseCellOrNumber(typed, dtype);
  const commit = () => {
    if (typed !== null && read !== undefined && formatCell(read) !== formatCell(value)) onChange(read);
    setTyped(null);
  };
  return (
    <input
      className="cell"
      aria-label={label}
      aria-invalid={read === undefined}
      data-row={row}
      data-column={column}
      value={typed ?? formatCell(value)}
      onFocus={(event) => event.target.select()}
      onChange={(event) => {
        const text = event.target.value;
        setTyped(text === formatCell(value) ? null : text);
      }}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit();
        // As in a spreadsheet, what was typed is taken back first, and the cell is left by the next one.
        else if (event.key === "Escape" && typed !== null) {
          setTyped(null);
          event.preventDefault();
        }
      }}
    />
  );
}
