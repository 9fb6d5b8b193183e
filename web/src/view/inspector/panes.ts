/**
 * Which tensors stand side by side: the one that follows the selection, those that were pinned, and A against B; and
 * how each is shown. It outlives the panel, which is away while another one, or Explain, is in its place.
 */

import { create } from "zustand";
import type { Item } from "../../model/action.ts";
import type { Range, RangeMode } from "../../model/shades.ts";
import type { Arrangement } from "../../model/wells.ts";
import type { Look } from "../../net/generated.ts";

export const MOST_PANES = 4;

/** An output on a page. */
export interface PinOn {
  readonly page: number;
  readonly pin: string;
}

export const WAYS = ["map", "table", "box", "list"] as const;
export type Way = (typeof WAYS)[number];

/** How a pane shows its tensors. */
interface Manner {
  readonly way: Way;
  /** By the names of axes. */
  readonly arranged: Readonly<Record<string, Arrangement>>;
}

interface RangeChoice {
  readonly mode: RangeMode | "typed";
  readonly typed?: Range;
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
  readonly manners: Readonly<Record<string, Manner>>;
  /** Which numbers have colours, by page and tensor. */
  readonly ranges: Readonly<Record<string, RangeChoice>>;
  /** The tensor that was chosen of those that a selection offers. */
  readonly chosen: { readonly pin: string; readonly of: ReadonlySet<Item> } | null;
}

const FIRST_MANNER: Manner = { way: "map", arranged: {} };

export const usePanes = create<Panes>()(() => ({
  pinned: [],
  following: 0,
  a: null,
  b: null,
  comparison: "difference",
  locked: null,
  manners: {},
  ranges: {},
  chosen: null,
}));

/** How a pane shows its tensors, by its number or its name. */
export const useManner = (pane: number | string): Manner =>
  usePanes((state) => state.manners[pane] ?? FIRST_MANNER);

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
  show(pane: number | string, manner: Partial<Manner>): void {
    const { manners } = usePanes.getState();
    usePanes.setState({ manners: { ...manners, [pane]: { ...(manners[pane] ?? FIRST_MANNER), ...manner } } });
  },
  colour(of: string, choice: RangeChoice): void {
    usePanes.setState(({ ranges }) => ({ ranges: { ...ranges, [of]: choice } }));
  },
  choose(pin: string, of: ReadonlySet<Item>): void {
    usePanes.setState({ chosen: { pin, of } });
  },
};
