/** The interface through which pointer gestures change the page. */

import type { Action, Item } from "../../model/action.ts";
import type { InputRef, OutputRef } from "../../model/document.ts";
import type { Point, Rect } from "../../model/geometry.ts";
import type { Graph } from "../../model/graph.ts";
import type { Hit } from "./stage.ts";

/** One end of a wire that is being drawn. */
export type WireEnd = { from: OutputRef } | { to: InputRef };

export interface PointerHost {
  graph(): Graph | null;
  selection(): ReadonlySet<Item>;
  select(items: Iterable<Item>): void;
  dispatch(action: Action): void;
  /** Opens the search for blocks, maybe for the end of a wire. `at` is in window pixels. */
  search(at: Point, place: Point, end: WireEnd | null): void;
  menu(at: Point, place: Point, hit: Hit): void;
  open(hit: Hit): void;
  /** Shows why a connection is invalid. */
  refuse(from: OutputRef, to: InputRef): void;
  marquee(rect: Rect | null): void;
  wiring(on: boolean): void;
}
