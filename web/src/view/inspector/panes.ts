/** Which tensors stand side by side: the one that follows the selection, those that were pinned, and A against B. */

import { create } from "zustand";
import type { Look } from "../../net/generated.ts";

export const MOST_PANES = 4;

/** An output on a page. */
export interface PinOn {
  readonly page: number;
  readonly pin: string;
}

/** A tensor in a pane of its own, which is another one than that of the selection. */
interface Kept extends PinOn {
  readonly pane: number;
}

interface Panes {
  readonly pinned: readonly Kept[];
  /** The pane that follows the selection. */
  readonly following: number;
  readonly a: PinOn | null;
  readonly b: PinOn | null;
  readonly comparison: NonNullable<Look["comparison"]>;
  /** Whether all have one range of colours; null to let that be as it fits them. */
  readonly locked: boolean | null;
}

export const usePanes = create<Panes>()(() => ({
  pinned: [],
  following: 0,
  a: null,
  b: null,
  comparison: "difference",
  locked: null,
}));

const same = (one: PinOn | null, other: PinOn): boolean => one?.page === other.page && one.pin === other.pin;

let last = 0;

export const panes = {
  /** Pins a tensor, or lets it go. The pane stays the same one, with its focus and all that was chosen in it. */
  togglePin(which: PinOn, isSelected: boolean): void {
    const { pinned, following } = usePanes.getState();
    const kept = pinned.find((each) => same(each, which));
    if (kept === undefined)
      usePanes.setState({ pinned: [...pinned, { ...which, pane: following }], following: ++last });
    else
      usePanes.setState({
        pinned: pinned.filter((each) => each !== kept),
        ...(isSelected && { following: kept.pane }),
      });
  },
  /** Takes a tensor as A or as B, or no longer. A tensor is not compared with itself. */
  toggleSide(side: "a" | "b", which: PinOn): void {
    const now = usePanes.getState();
    const other = side === "a" ? "b" : "a";
    usePanes.setState({
      [side]: same(now[side], which) ? null : which,
      ...(same(now[other], which) && { [other]: null }),
    });
  },
  compareBy(comparison: Panes["comparison"]): void {
    usePanes.setState({ comparison });
  },
  endComparison(): void {
    usePanes.setState({ a: null, b: null });
  },
  lock(locked: boolean): void {
    usePanes.setState({ locked });
  },
};
