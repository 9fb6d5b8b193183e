/**
 * Which tensors stand side by side: the one that follows the selection, those that were pinned, and A against B; and
 * how each is shown. It outlives the panel, which is away while another one, or Explain, is in its place.
 */

import { create } from "zustand";
import type { Item } from "../../model/action.ts";
import type { Arrangement } from "../../model/axis-roles.ts";
import type { Range, RangeMode } from "../../model/colour-index.ts";
import type { Look } from "../../net/generated.ts";

export const MAX_PANES = 4;

/** An output on a page. */
export interface PageOutput {
  readonly page: number;
  readonly pin: string;
}

export const VIEW_MODES = ["map", "table", "box", "list"] as const;
export type ViewMode = (typeof VIEW_MODES)[number];

/** How a pane shows its tensors. */
interface PaneView {
  readonly way: ViewMode;
  /** By the names of axes. */
  readonly arranged: Readonly<Record<string, Arrangement>>;
}

interface RangeChoice {
  readonly mode: RangeMode | "typed";
  readonly typed?: Range;
}

/** A tensor in a pane of its own, which is another one than that of the selection. */
interface PinnedTensor extends PageOutput {
  readonly pane: number;
}

interface PanesState {
  readonly pinned: readonly PinnedTensor[];
  /** The pane that follows the selection. */
  readonly following: number;
  /** The number of the next pane. */
  readonly nextPane: number;
  readonly a: PageOutput | null;
  readonly b: PageOutput | null;
  readonly comparison: NonNullable<Look["comparison"]>;
  /** Whether all have one range of colours; null to let that be as it fits them. */
  readonly locked: boolean | null;
  readonly views: Readonly<Record<string, PaneView>>;
  /** Which numbers have colours, by page and tensor. */
  readonly ranges: Readonly<Record<string, RangeChoice>>;
  /** The tensor that was chosen of those that a selection offers. */
  readonly chosen: { readonly pin: string; readonly of: ReadonlySet<Item> } | null;
}

const DEFAULT_VIEW: PaneView = { way: "map", arranged: {} };

export const usePanes = create<PanesState>()(() => ({
  pinned: [],
  following: 0,
  nextPane: 1,
  a: null,
  b: null,
  comparison: "difference",
  locked: null,
  views: {},
  ranges: {},
  chosen: null,
}));

/** How a pane shows its tensors, by its number or its name. */
export const usePaneView = (pane: number | string): PaneView =>
  usePanes((state) => state.views[pane] ?? DEFAULT_VIEW);

const same = (one: PageOutput | null, other: PageOutput): boolean =>
  one?.page === other.page && one.pin === other.pin;

export const panes = {
  /** Pins a tensor, or lets it go. The pane stays the same one, with its focus and all that was chosen in it. */
  togglePin(which: PageOutput, isSelected: boolean): void {
    const { pinned, following, nextPane } = usePanes.getState();
    const kept = pinned.find((each) => same(each, which));
    if (kept === undefined)
      usePanes.setState({
        pinned: [...pinned, { ...which, pane: following }],
        following: nextPane,
        nextPane: nextPane + 1,
      });
    else
      usePanes.setState({
        pinned: pinned.filter((each) => each !== kept),
        ...(isSelected && { following: kept.pane }),
      });
  },
  /** Takes a tensor as A or as B, or no longer. A tensor is not compared with itself. */
  toggleSide(side: "a" | "b", which: PageOutput): void {
    const now = usePanes.getState();
    const other = side === "a" ? "b" : "a";
    usePanes.setState({
      [side]: same(now[side], which) ? null : which,
      ...(same(now[other], which) && { [other]: null }),
    });
  },
  compareBy(comparison: PanesState["comparison"]): void {
    usePanes.setState({ comparison });
  },
  endComparison(): void {
    usePanes.setState({ a: null, b: null });
  },
  shareRange(locked: boolean): void {
    usePanes.setState({ locked });
  },
  setView(pane: number | string, manner: Partial<PaneView>): void {
    const { views: manners } = usePanes.getState();
    usePanes.setState({ views: { ...manners, [pane]: { ...(manners[pane] ?? DEFAULT_VIEW), ...manner } } });
  },
  setRange(of: string, choice: RangeChoice): void {
    usePanes.setState(({ ranges }) => ({ ranges: { ...ranges, [of]: choice } }));
  },
  choose(pin: string, of: ReadonlySet<Item>): void {
    usePanes.setState({ chosen: { pin, of } });
  },
};
