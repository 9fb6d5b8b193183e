import { type ReactElement, useState } from "react";
import type { Json } from "../../model/document.ts";
import { PRESETS } from "../../model/presets.ts";
import { offsetIn, wholeBox } from "../../model/slices.ts";
import { type Cells, cellReader, filled, readCell, shownCell } from "../widgets/constant.ts";
import { Entry } from "../widgets/Entry.tsx";
import { useWords } from "../words.ts";
import { useInspectorWords } from "./words.ts";

/** What a brush leaves behind, in the constant it is for. */
export interface Paint {
  readonly pin: string;
  readonly value: Json;
}

interface Props {
  pin: string;
  cells: Cells;
  /** Where the one of a one-hot constant goes. */
  hot: readonly number[] | null;
  paint: Paint | null;
  onPaint(paint: Paint | null): void;
  onPut(cells: Cells): void;
}

/** Ways to fill a constant, and a brush. */
export function EditBar({ pin, cells, hot, paint, onPaint, onPut }: Props): ReactElement {
  const w = useInspectorWords();
  const words = useWords();
  const [seed, setSeed] = useState(0);
  const [ink, setInk] = useState<Json>(readCell("1", cells.dtype) ?? 1);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    <div className="edit-bar" role="group" aria-label={w.fillWith}>
      {PRESETS.map((each) => (
        <button
          key={each}
          type="button"
          className="button"
          onClick={() =>
            onPut(filled(cells, each, { seed, hot: hot ? offsetIn(wholeBox(cells.shape), hot) : 0 }))
          }
        >
          {words.fill[each]}
        </button>
      ))}
      <span className="edit-field">
        <span>{words.seed}</span>
        <Entry<number>
          label={words.seed}
          value={seed}
          format={String}
          size={5}
          step={(value, by) => Math.max(0, value + by)}
          read={(typed) =>
            /^\d+$/.test(typed.trim()) ? { value: Number(typed) } : { error: words.wholeAtLeast(0) }
          }
          onChange={setSeed}
        />
      </span>
      <span className="divider" />
      <button
        type="button"
        className="button"
        aria-pressed={paint !== null}
        title={w.paintHow}
        onClick={() => onPaint(paint ? null : { pin, value: ink })}
      >
        {w.paint}
      </button>
      <Entry<Json>
        label={w.paintWith}
        value={ink}
        format={shownCell}
        size={6}
        read={cellReader(cells.dtype, words)}
        onChange={(value) => {
          setInk(value);
          if (paint) onPaint({ pin, value });
        }}
      />
    </div>
  );
}
