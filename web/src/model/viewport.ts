/** The viewport of the canvas, and how it is fitted to rectangles. */

import { bounds, overlaps, type Rect } from "./geometry.ts";

/** Pan and zoom: a page point (x, y) is at (x * zoom + viewport.x, y * zoom + viewport.y) on the canvas. */
export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

interface CanvasWindow {
  readonly width: number;
  readonly height: number;
  readonly minZoom: number;
  /** Toolbars in the lower corners, which cover the canvas. */
  readonly tools: readonly Rect[];
}

const MARGIN = 24;
const MIN_MARGIN = 12;

/** The viewport that shows all rectangles, not covered by toolbars: as large as fits up to 100%, near the centre. */
export function fitView(rects: readonly Rect[], window: CanvasWindow): Viewport | undefined {
  const around = bounds(rects);
  if (around === undefined) return undefined;
  let best: Viewport | undefined;
  let most = 0;
  for (const room of freeAreas(window)) {
    const view = centredIn(around, room, window.minZoom);
    const free = rects.every((rect) => window.tools.every((tool) => !overlaps(toScreen(rect, view), tool)));
    const aside = Math.abs(room.x + room.width / 2 - window.width / 2) / window.width;
    const worth = view.zoom * (1 - aside);
    if (free && worth > most) [best, most] = [view, worth];
  }
  return best ?? centredIn(around, { x: 0, y: 0, ...window }, window.minZoom);
}

/** The whole canvas, and the parts of it beside and above the toolbars. */
function freeAreas({ width, height, tools }: CanvasWindow): Rect[] {
  const left = tools.filter((tool) => tool.x < width / 2).map((tool) => tool.x + tool.width);
  const right = tools.filter((tool) => tool.x >= width / 2).map((tool) => tool.x);
  const below = tools.map((tool) => tool.y);
  return [height, ...below].flatMap((bottom) =>
    [0, ...left].flatMap((x) =>
      [width, ...right].map((end) => ({ x, y: 0, width: end - x, height: bottom })),
    ),
  );
}

function centredIn(around: Rect, room: Rect, leastZoom: number): Viewport {
  const inner = (size: number) => Math.max(size - 2 * MARGIN, size / 2, 1);
  const scale = Math.min(inner(room.width) / around.width, inner(room.height) / around.height);
  const zoom = Math.max(leastZoom, Math.min(scale, 1));
  return {
    x: room.x + room.width / 2 - (around.x + around.width / 2) * zoom,
    y: room.y + room.height / 2 - (around.y + around.height / 2) * zoom,
    zoom,
  };
}

function toScreen({ x, y, width, height }: Rect, view: Viewport): Rect {
  return {
    x: x * view.zoom + view.x - MIN_MARGIN,
    y: y * view.zoom + view.y - MIN_MARGIN,
    width: width * view.zoom + 2 * MIN_MARGIN,
    height: height * view.zoom + 2 * MIN_MARGIN,
  };
}
