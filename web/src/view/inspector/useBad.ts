import { useRef, useState } from "react";
import { nextBad } from "../../model/bad.ts";
import { offsetIn, wholeBox } from "../../model/slices.ts";
import type { FoundBad } from "../../net/generated.ts";
import { studio } from "../../state/store.ts";
import { ui } from "../ui.ts";
import { type Looked, numberIn } from "./tensor.ts";
import { useInspectorWords } from "./words.ts";

export interface Bad {
  /** Where the last search ended; null if it was of other numbers. */
  readonly found: FoundBad | null;
  /** How far a search is, from 0 to 1; null while there is none. */
  readonly part: number | null;
  /** Looks for the next one after a cell, or stops looking. */
  find(after: readonly number[] | null): Promise<void>;
}

/** Finds the next NaN or infinity: of a constant here, of a value at the server, which may take a while. */
export function useBad(
  page: number,
  pin: string,
  { source, cells }: Looked,
  goTo: (cell: readonly number[]) => void,
): Bad {
  const w = useInspectorWords();
  const [last, setLast] = useState<{ source: typeof source; bad: FoundBad } | null>(null);
  const [part, setPart] = useState<number | null>(null);
  const leaving = useRef<AbortController>(null);
  const tell = (cell: readonly number[] | null | undefined) => (cell ? goTo(cell) : ui.say(w.noBad));

  async function find(after: readonly number[] | null): Promise<void> {
    if (cells) {
      const place = after && offsetIn(wholeBox(cells.shape), after);
      tell(nextBad(cells.elements.map(numberIn), cells.shape, place));
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
      const bad = await studio.findBad(page, pin, after, { progress: setPart, signal });
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
