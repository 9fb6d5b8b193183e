import type { ReactElement } from "react";
import type { Range, RangeMode } from "../../model/colour-index.ts";
import { useInspectorStrings } from "../strings.ts";
import { panes } from "./panes.ts";
import { Histogram } from "./Statistics.tsx";
import type { TensorStatistics } from "./useTensor.ts";

/** The colour range of a pane, and its setters. */
export interface ColourSettings {
  readonly range: Range;
  readonly mode: RangeMode | "typed";
  /** Whether the range is shared, and by the user's choice; null with a single tensor. */
  readonly sharing: {
    readonly same: boolean;
    readonly many: number;
    readonly chosen: boolean;
    /** The tensors that have next to one colour in a shared range. */
    readonly hidden: readonly string[];
  } | null;
  choose(mode: RangeMode): void;
  set(range: Range): void;
}

/** Histogram, colour range and its scope. */
export function ColourRange({
  statistics,
  colours,
}: {
  statistics: TensorStatistics;
  colours: ColourSettings;
}): ReactElement {
  const t = useInspectorStrings();
  const { sharing } = colours;
  return (
    <>
      <Histogram statistics={statistics} range={colours.range} onRange={colours.set} />
      {sharing && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
        <span className="group range-sharing" role="group" aria-label={t.sharing}>
          {([true, false] as const).map((same) => (
            <button
              key={String(same)}
              type="button"
              className="button"
              aria-pressed={sharing.same === same}
              title={same ? t.sharedHow : t.ownHow}
              onClick={() => panes.shareRange(same)}
            >
              {same ? t.shared : t.own}
            </button>
          ))}
        </span>
      )}
      <label className="range-mode">
        <span>{t.colours}</span>
        <select
          className="field"
          value={colours.mode}
          onChange={(event) => colours.choose(event.target.value as RangeMode)}
        >
          <option value="all">{t.range.all}</option>
          <option value="most">{t.range.most}</option>
          {colours.mode === "typed" && <option value="typed">{t.range.typed}</option>}
        </select>
      </label>
      {sharing && (
        <p className="range-said soft small">
          {sharing.same ? t.sharedFor(sharing.many) : sharing.chosen ? t.ownOnly : t.ownAsFits}
          {sharing.same && sharing.hidden.length > 0 && ` ${t.hiddenByRange(sharing.hidden.join(", "))}`}
        </p>
      )}
    </>
  );
}
