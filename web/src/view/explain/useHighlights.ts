import { startTransition, useEffect, useState } from "react";
import { highlightsOf } from "../../model/highlights.ts";
import { ravelIndex } from "../../model/indexing.ts";
import { type Cursor, cursor } from "../../state/cursor.ts";
import type { Explanation } from "./explanation.ts";
import type { PanelControl } from "./TensorPanel.tsx";

export interface CursorCell {
  readonly pin: string;
  readonly place: number;
  readonly pinned: boolean;
  /** Another one when numbers have come that were not here before. */
  readonly turn: number;
}

/** Lights up what belongs to the cursor, at once and without React; gives the cell for what may follow a frame later. */
export function useHighlights(
  picture: Explanation | null,
  panels: ReadonlyMap<string, PanelControl>,
): CursorCell | null {
  const [at, setAt] = useState<CursorCell | null>(null);
  useEffect(() => {
    if (picture === null) return;
    let waiting = 0;
    let turn = 0;
    const show = () => {
      const found = placeAt(picture, cursor.current);
      const lights =
        found && highlightsOf(picture.rows, picture.twins, picture.holding, found.pin, found.place);
      for (const [pin, panel] of panels) {
        const lit = lights?.get(pin);
        panel.highlight(lit, cursor.pinned);
        if (lit && pin !== hovered(found)) panel.reveal(lit);
      }
      cancelAnimationFrame(waiting);
      // The pointer goes on meanwhile: what is written beside the maps must not keep it waiting.
      waiting = requestAnimationFrame(() =>
        startTransition(() => setAt(found && { ...found, pinned: cursor.pinned, turn })),
      );
      if (found && cursor.pinned)
        void fetchMissing(picture, found, () => {
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
  }, [picture, panels]);
  return at;
}

/** The tensor under the pointer stays as it is; the others show what belongs to it. */
function hovered(found: { pin: string } | null): string | undefined {
  return document.querySelector(".explain-map:hover") ? found?.pin : undefined;
}

function placeAt(picture: Explanation, now: Cursor | null): { pin: string; place: number } | null {
  const shape = now && picture.tensors.get(now.pin)?.tensor.shape;
  if (!now || now.page !== picture.page || shape?.length !== now.cell.length) return null;
  const inside = now.cell.every((place, axis) => place < (shape[axis] as number));
  return inside ? { pin: now.pin, place: ravelIndex(now.cell, shape) } : null;
}

/** Of tensors that are too large to be here, what the cell needs; then it is shown again. */
async function fetchMissing(
  picture: Explanation,
  { pin, place }: { pin: string; place: number },
  show: () => void,
): Promise<void> {
  const lights = highlightsOf(picture.rows, picture.twins, picture.holding, pin, place);
  const missing = [...lights].flatMap(([tensor, lit]) => {
    const held = picture.tensors.get(tensor);
    const places = [...lit.values()].flatMap((each) => [...each]);
    return held && places.some((each) => held.at(each) === undefined) ? [{ held, places }] : [];
  });
  if (missing.length === 0) return;
  const fetched = await Promise.all(missing.map(({ held, places }) => held.fetch(places)));
  if (fetched.includes(true)) show();
}
