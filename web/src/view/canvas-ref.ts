/** The canvas that is shown, for the parts of the view that pan, zoom or focus it. */

import type { Item } from "../model/action.ts";
import type { Point } from "../model/geometry.ts";

export interface CanvasControl {
  /** The page coordinates in the middle of the canvas. */
  centre(): Point;
  /** Fits items, or the whole page, into the viewport. */
  fit(items?: ReadonlySet<Item>): void;
  /** Fits the whole page into the viewport, or shows the top left of one that is too large to be read so. */
  showInitialView(): void;
  zoom(factor: number | "one"): void;
  /** Pans to an item unless it is visible. */
  reveal(which: Item): void;
  focus(): void;
}

/** Null while no canvas is mounted. */
export const canvasRef: { current: CanvasControl | null } = { current: null };
