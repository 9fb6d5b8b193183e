import { useRef, useState } from "react";
import { nextNonFinite } from "../../model/nonfinite.ts";
import { fullSlice, offsetIn } from "../../model/slices.ts";
import type { FoundNonFinite } from "../../net/generated.ts";
import { studio } from "../../state/store.ts";
import { useInspectorStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { type InspectedTensor, numberIn } from "./useTensor.ts";

export interface NonFiniteSearch {
  /** The result of the last search; null if values have changed since. */
  readonly found: FoundNonFinite | null;
  /** The progress of the search, from 0 to 1; null if none is running. */
  readonly part: number | null;
  /** Searches after a cell, or stops the running search. */
  find(after: readonly number[] | null): Promise<void>;
}

/** Searches for the next NaN or infinity, in a constant here, in an output at the server. */
export function useNonFinite(
  page: number,
  pin: string,
  { source, cells }: InspectedTensor,
  goTo: (cell: readonly number[]) => void,
): NonFiniteSearch {
  const t = useInspectorStrings();
  const [last, setLast] = useState<{ source: typeof source; bad: FoundNonFinite } | null>(null);
  const [part, setPart] = useState<number | null>(null);
  const leaving = useRef<AbortController>(null);
  const tell = (cell: readonly number[] | null | undefined) =>
    cell ? goTo(cell) : ui.announce(t.noNonFinite);

  async function find(after: readonly number[] | null): Promise<void> {
    if (cells) {
      const place = after && offsetIn(fullSlice(cells.shape), after);
      tell(nextNonFinite(cells.elements.map(numberIn), cells.shape, place));
      return;
    }
    if (part !== null) {
      leaving.current?.abort();
      return;
    }
    leaving.current = new AbortController();
    const { signal } = leaving.current;
    setPart(0);
    try {
      const bad = await studio.requests.findNonFinite(page, pin, after, { onProgress: setPart, signal });
      setLast({ source, bad });
      tell(bad.cell);
    } catch (error) {
      if (!signal.aborted) studio.notice("error", (error as Error).message);
    } finally {
      setPart(null);
    }
  }
  return { found: last?.source === source ? last.bad : null, part, find };
}
