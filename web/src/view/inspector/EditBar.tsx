import { type ReactElement, useState } from "react";
import { type ConstantCells, formatCell, parseCellOrNumber } from "../../model/constant-cells.ts";
import type { Json } from "../../model/document.ts";
import { PRESETS } from "../../model/presets.ts";
import { fullSlice, offsetIn } from "../../model/slices.ts";
import { useInspectorStrings, useStrings } from "../strings.ts";
import { cellParser, filled } from "../widgets/constant.ts";
import { ValidatedField } from "../widgets/ValidatedField.tsx";

/** The value that painting sets, and the constant it is for. */
export interface Brush {
  readonly pin: string;
  readonly value: Json;
}

interface Props {
  pin: string;
  cells: ConstantCells;
  /** The index of the one of a one-hot constant. */
  hot: readonly number[] | null;
  paint: Brush | null;
  onPaint(paint: Brush | null): void;
  onPut(cells: ConstantCells): void;
}

/** Fill presets and the paint brush of a constant. */
export function EditBar({ pin, cells, hot, paint, onPaint, onPut }: Props): ReactElement {
  const t = useInspectorStrings();
  const common = useStrings();
  const [seed, setSeed] = useState(0);
  const [ink, setInk] = useState<Json>(parseCellOrNumber("1", cells.dtype) ?? 1);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    <div className="edit-bar" role="group" aria-label={t.fillWith}>
      {PRESETS.map((each) => (
        <button
          key={each}
          type="button"
          className="button"
          onClick={() =>
            onPut(filled(cells, each, { seed, hot: hot ? offsetIn(fullSlice(cells.shape), hot) : 0 }))
          }
        >
          {common.fill[each]}
        </button>
      ))}
      <span className="edit-field">
        <span>{common.seed}</span>
        <ValidatedField<number>
          label={common.seed}
          value={seed}
          format={String}
          size={5}
          step={(value, by) => Math.max(0, value + by)}
          read={(typed) =>
            /^\d+$/.test(typed.trim()) ? { value: Number(typed) } : { error: common.wholeAtLeast(0) }
          }
          onChange={setSeed}
        />
      </span>
      <span className="divider" />
      <button
        type="button"
        className="button"
        aria-pressed={paint !== null}
        title={t.paintHow}
        onClick={() => onPaint(paint ? null : { pin, value: ink })}
      >
        {t.paint}
      </button>
      <ValidatedField<Json>
        label={t.paintWith}
        value={ink}
        format={formatCell}
        size={6}
        read={cellParser(cells.dtype, common)}
        onChange={(value) => {
          setInk(value);
          if (paint) onPaint({ pin, value });
        }}
      />
    </div>
  );
}
