/** Which tensors stand side by side: the one that follows the selection, those that were pinned, and A against B. */

import { create } from "zustand";
import type { Look } from "../../net/generated.ts";

export const MOST_PANES = 4;

/** An output on a page. */
export interface PinOn {
  readonly page: number;
  readonly pin: string;
}

interface Panes {
  readonly pinned: readonly PinOn[];
  readonly a: PinOn | null;
  readonly b: PinOn | null;
  readonly comparison: NonNullable<Look["comparison"]>;
  /** Whether all have one range of colours; null to let that be as it fits them. */
  readonly locked: boolean | null;
}

export const usePanes = create<Panes>()(() => ({
  pinned: [],
  a: null,
  b: null,
  comparison: "difference",
  locked: null,
}));

const same = (one: PinOn | null, other: PinOn): boolean => one?.page === other.page && one.pin === other.pin;

export const panes = {
  /** Pins a tensor, or lets it go. */
  togglePin(which: PinOn): void {
    const { pinned } = usePanes.getState();
    const left = pinned.filter((each) => !same(each, which));
    usePanes.setState({ pinned: left.length < pinned.length ? left : [...pinned, which] });
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
