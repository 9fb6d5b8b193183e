import { startTransition, useEffect, useState } from "react";
import { highlightsOf } from "../../model/highlights.ts";
import { ravelIndex } from "../../model/indexing.ts";
import { type Cursor, cursor } from "../../state/cursor.ts";
import type { Explanation } from "./explanation.ts";
import type { PanelControl } from "./TensorPanel.tsx";

export interface CursorCell {
  readonly pin: string;
  readonly offset: number;
  readonly pinned: boolean;
  /** Increases when more values are loaded. */
  readonly revision: number;
}

/** Highlights the cells of the cursor at once, without React; returns the cell a frame later for the rest of the view. */
export function useHighlights(
  explanation: Explanation | null,
  panels: ReadonlyMap<string, PanelControl>,
): CursorCell | null {
  const [at, setAt] = useState<CursorCell | null>(null);
  useEffect(() => {
    if (explanation === null) return;
    let waiting = 0;
    let turn = 0;
    const show = () => {
      const found = placeAt(explanation, cursor.current);
      const highlights =
        found &&
        highlightsOf(
          explanation.blocks,
          explanation.counterparts,
          explanation.readCell,
          found.pin,
          found.offset,
        );
      for (const [pin, panel] of panels) {
        const highlighted = highlights?.get(pin);
        panel.highlight(highlighted, cursor.pinned);
        if (highlighted && pin !== hovered(found)) panel.reveal(highlighted);
      }
      cancelAnimationFrame(waiting);
      // A transition, so that rendering the side panel does not delay the pointer.
      waiting = requestAnimationFrame(() =>
        startTransition(() => setAt(found && { ...found, pinned: cursor.pinned, revision: turn })),
      );
      if (found && cursor.pinned)
        void fetchMissing(explanation, found, () => {
          turn++;
          show();
        });
    };
    show();
    const stop = cursor.onChange(show);
    return () => {
      stop();
      cancelAnimationFrame(waiting);
    };
  }, [explanation, panels]);
  return at;
}

/** The tensor under the pointer, which is not scrolled. */
function hovered(found: { pin: string } | null): string | undefined {
  return document.querySelector(".explain-map:hover") ? found?.pin : undefined;
}

function placeAt(explanation: Explanation, now: Cursor | null): { pin: string; offset: number } | null {
  const shape = now && explanation.tensors.get(now.pin)?.tensor.shape;
  if (!now || now.page !== explanation.page || shape?.length !== now.cell.length) return null;
  const inside = now.cell.every((offset, axis) => offset < (shape[axis] as number));
  return inside ? { pin: now.pin, offset: ravelIndex(now.cell, shape) } : null;
}

/** Fetches missing values of large tensors for a pinned cell, then shows it again. */
async function fetchMissing(
  explanation: Explanation,
  { pin, offset }: { pin: string; offset: number },
  show: () => void,
): Promise<void> {
  const highlights = highlightsOf(
    explanation.blocks,
    explanation.counterparts,
    explanation.readCell,
    pin,
    offset,
  );
  const missing = [...highlights].flatMap(([tensor, highlighted]) => {
    const held = explanation.tensors.get(tensor);
    const offsets = [...highlighted.values()].flatMap((each) => [...each]);
    return held && offsets.some((each) => held.at(each) === undefined) ? [{ held, offsets }] : [];
  });
  if (missing.length === 0) return;
  const fetched = await Promise.all(missing.map(({ held, offsets }) => held.fetch(offsets)));
  if (fetched.includes(true)) show();
}
