import { type ReactElement, type Ref, useEffect, useState } from "react";
import { type ConstantCells, formatCell } from "../../model/constant-cells.ts";
import type { Json } from "../../model/document.ts";
import { cellSlice, fullSlice, offsetIn } from "../../model/slices.ts";
import { elementText } from "../../net/frames.ts";
import { useInspectorStrings, useStrings } from "../strings.ts";
import { cellParser } from "../widgets/constant.ts";
import { ValidatedField } from "../widgets/ValidatedField.tsx";
import { formatIndex } from "./Table.tsx";
import type { TensorSource } from "./tensor-source.ts";

interface Props {
  /** The field that edits the value of a constant. */
  field: Ref<HTMLInputElement>;
  label: string;
  source: TensorSource;
  cell: readonly number[] | null;
  /** Whether the cursor is pinned. */
  pinned: boolean;
  cells: ConstantCells | undefined;
  onRelease(): void;
  onEdit(cell: readonly number[], value: Json): void;
}

/** The cell at the cursor and its value, in a live region; editable for constants. */
export function CellStatus(props: Props): ReactElement {
  const { field, label, source, cell, cells, onEdit } = props;
  const t = useInspectorStrings();
  const common = useStrings();
  const held = useCellText(cells ? null : source, cell);
  const value = cells && cell ? cells.elements[offsetIn(fullSlice(cells.shape), cell)] : undefined;
  const text = value === undefined ? held : formatCell(value);
  return (
    <footer className="cell-line">
      {props.pinned && (
        <button type="button" className="button" title={t.unpinHow} onClick={props.onRelease}>
          {t.pinned} <kbd>Esc</kbd>
        </button>
      )}
      <span className="mono" role="status" aria-live="polite">
        {cell ? `${label}${formatIndex(cell)} = ${text}` : t.noCell}
      </span>
      {cells && cell && value !== undefined && (
        <ValidatedField<Json>
          field={field}
          label={t.valueOf(formatIndex(cell))}
          value={value}
          format={formatCell}
          read={cellParser(cells.dtype, common)}
          onChange={(next) => onEdit(cell, next)}
        />
      )}
    </footer>
  );
}

/** The exact value of a cell as text; an ellipsis while it loads. */
function useCellText(source: TensorSource | null, cell: readonly number[] | null): string {
  const [found, setFound] = useState({ source, key: "", text: "" });
  const [turn, setTurn] = useState(0);
  useEffect(() => source?.onChange(() => setTurn((n) => n + 1)), [source]);
  const key = cell === null ? "" : JSON.stringify(cell);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again whenever there are new numbers.
  useEffect(() => {
    if (key === "" || source === null) return;
    let wanted = true;
    const at = JSON.parse(key) as number[];
    source.numbers(cellSlice(at)).then(
      (frame) => wanted && setFound({ source, key, text: elementText(frame, 0) }),
      () => {},
    );
    return () => {
      wanted = false;
    };
  }, [source, key, turn]);
  return found.source === source && found.key === key ? found.text : "…";
}
