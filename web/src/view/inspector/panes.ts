/**
 * The panes of the inspector: the one that follows the selection, pinned ones, the comparison of A and B, and the view
 * of each. This state outlives the panel, which is unmounted while another tab or Explain is shown.
 */

import { create } from "zustand";
import type { Item } from "../../model/action.ts";
import type { Arrangement } from "../../model/axis-roles.ts";
import type { Range, RangeMode } from "../../model/colour-index.ts";
import type { ReadSlice } from "../../net/generated.ts";

export const MAX_PANES = 4;

/** An output on a page. */
export interface PageOutput {
  readonly page: number;
  readonly pin: string;
}

export const VIEW_MODES = ["map", "table", "box", "list"] as const;
export type ViewMode = (typeof VIEW_MODES)[number];

/** The view of a pane. */
interface PaneView {
  readonly viewMode: ViewMode;
  /** Arrangements by axis names. */
  readonly arranged: Readonly<Record<string, Arrangement>>;
}

interface RangeChoice {
  readonly mode: RangeMode | "typed";
  readonly typed?: Range;
}

/** A pinned tensor with its pane. */
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
  readonly comparison: NonNullable<ReadSlice["comparison"]>;
  /** Whether the colour range is shared; null to share it if it fits. */
  readonly locked: boolean | null;
  readonly views: Readonly<Record<string, PaneView>>;
  /** Colour ranges by page and tensor. */
  readonly ranges: Readonly<Record<string, RangeChoice>>;
  /** The tensor that the user chose from a selection. */
  readonly chosen: { readonly pin: string; readonly of: ReadonlySet<Item> } | null;
}

const DEFAULT_VIEW: PaneView = { viewMode: "map", arranged: {} };

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

/** The view of a pane, by number or name. */
export const usePaneView = (pane: number | string): PaneView =>
  usePanes((state) => state.views[pane] ?? DEFAULT_VIEW);

const same = (one: PageOutput | null, other: PageOutput): boolean =>
  one?.page === other.page && one.pin === other.pin;

export const panes = {
  /** Pins or unpins a tensor. The pane is kept, with its focus and view. */
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
  /** Sets or clears a side of the comparison. A tensor is not compared with itself. */
  toggleSide(side: "a" | "b", which: PageOutput): void {
    const now = usePanes.getState();
    const other = side === "a" ? "b" : "a";
    usePanes.setState({
      [side]: same(now[side], which) ? null : which,
      ...(same(now[other], which) && { [other]: null }),
    });
  },
  /** Compares two tensors of a page. */
  compare(page: number, a: string, b: string): void {
    usePanes.setState({ a: { page, pin: a }, b: { page, pin: b } });
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
  setView(pane: number | string, view: Partial<PaneView>): void {
    const { views } = usePanes.getState();
    usePanes.setState({ views: { ...views, [pane]: { ...(views[pane] ?? DEFAULT_VIEW), ...view } } });
  },
  setRange(of: string, choice: RangeChoice): void {
    usePanes.setState(({ ranges }) => ({ ranges: { ...ranges, [of]: choice } }));
  },
  choose(pin: string, of: ReadonlySet<Item>): void {
    usePanes.setState({ chosen: { pin, of } });
  },
};
