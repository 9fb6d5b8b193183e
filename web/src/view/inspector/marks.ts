/** Paints marks around cells. */

import { cellPosition, type ScrollRect, type TileLayout } from "../../model/tiles.ts";
import type { Colours } from "../canvas/colours.ts";

export type MarkKind = "from" | "feeds" | "winner" | "tie" | "cursor" | "pinned";

/** A marked cell. */
export interface Mark {
  readonly cell: readonly number[];
  readonly kind: MarkKind;
}

/** Marks differ in outline and shape, dark within light, so that they are visible on every colour. */
export function paintMarks(
  g: CanvasRenderingContext2D,
  tiles: TileLayout,
  view: ScrollRect,
  marks: readonly Mark[],
  colours: Colours,
): void {
  g.clearRect(0, 0, view.width, view.height);
  for (const kind of ["from", "feeds", "tie", "winner", "pinned", "cursor"] as const) {
    const places: { x: number; y: number }[] = [];
    for (const mark of marks) {
      if (mark.kind !== kind) continue;
      const place = cellPosition(tiles, mark.cell);
      if (place === undefined) continue;
      const [x, y] = [place.x - view.x, place.y - view.y];
      if (x > -tiles.cell.width && y > -tiles.cell.height && x < view.width && y < view.height)
        places.push({ x, y });
    }
    if (places.length > 0) MARKS[kind](g, places, tiles, colours);
  }
}

type Draw = (
  g: CanvasRenderingContext2D,
  places: readonly { x: number; y: number }[],
  tiles: TileLayout,
  colours: Colours,
) => void;

/** The least size of an outline, around smaller cells. */
const MIN_MARK = 5;

function boxes(
  g: CanvasRenderingContext2D,
  places: Parameters<Draw>[1],
  tiles: TileLayout,
  inset: number,
): void {
  const width = Math.max(tiles.cell.width, MIN_MARK) - 2 * inset;
  const height = Math.max(tiles.cell.height, MIN_MARK) - 2 * inset;
  g.beginPath();
  for (const { x, y } of places) g.rect(Math.round(x) + inset, Math.round(y) + inset, width, height);
}

/** The outline of the union of marked cells. */
function around(g: CanvasRenderingContext2D, places: Parameters<Draw>[1], tiles: TileLayout): void {
  const { width, height } = tiles.cell;
  // In eighths of a pixel, so that edges of neighbours are equal.
  const key = (x: number, y: number): number => Math.round(x * 8) * 2 ** 22 + Math.round(y * 8);
  const marked = new Set(places.map(({ x, y }) => key(x, y)));
  g.beginPath();
  for (const { x, y } of places) {
    const [left, top, right, bottom] = [x, y, x + width, y + height].map(Math.round) as [
      number,
      number,
      number,
      number,
    ];
    const edge = (beyond: number, ax: number, ay: number, bx: number, by: number): void => {
      if (marked.has(beyond)) return;
      g.moveTo(ax, ay);
      g.lineTo(bx, by);
    };
    edge(key(x, y - height), left, top, right, top);
    edge(key(x, y + height), left, bottom, right, bottom);
    edge(key(x - width, y), left, top, left, bottom);
    edge(key(x + width, y), right, top, right, bottom);
  }
}

function outline(
  colour: (colours: Colours) => string,
  width: number,
  dash: number[],
  inset = 1,
  together = false,
): Draw {
  return (g, places, tiles, colours) => {
    if (together && tiles.cell.width >= MIN_MARK) around(g, places, tiles);
    else boxes(g, places, tiles, inset);
    g.lineCap = "square";
    g.lineWidth = width + 2;
    g.strokeStyle = "rgb(255 255 255 / 85%)";
    g.setLineDash([]);
    g.stroke();
    g.lineWidth = width;
    g.strokeStyle = colour(colours);
    g.setLineDash(dash);
    g.stroke();
    g.setLineDash([]);
  };
}

const MARKS: Readonly<Record<MarkKind, Draw>> = {
  from: outline(() => "#0b57d0", 2, [], 1, true),
  feeds: outline(() => "#7b1fa2", 2, [4, 4], 1, true),
  tie: (g, places, tiles, colours) => {
    outline(() => "#14181f", 1.5, [1, 2])(g, places, tiles, colours);
    const { width, height } = tiles.cell;
    g.beginPath();
    for (const { x, y } of places)
      for (let at = 4; at < width + height; at += 5) {
        g.moveTo(x + Math.min(at, width), y + Math.max(0, at - width));
        g.lineTo(x + Math.max(0, at - height), y + Math.min(at, height));
      }
    g.lineWidth = 1;
    g.strokeStyle = "rgb(20 24 31 / 70%)";
    g.stroke();
  },
  winner: (g, places, tiles, colours) => {
    outline(() => "#14181f", 2.5, [])(g, places, tiles, colours);
    const size = Math.max(4, Math.min(9, tiles.cell.width / 3));
    g.beginPath();
    for (const { x, y } of places) {
      g.moveTo(x, y);
      g.lineTo(x + size, y);
      g.lineTo(x, y + size);
      g.closePath();
    }
    g.fillStyle = "#14181f";
    g.fill();
  },
  pinned: outline(() => "#c2185b", 2, [], 2),
  cursor: outline(() => "#14181f", 2, [], 0),
};
