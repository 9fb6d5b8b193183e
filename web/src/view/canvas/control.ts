/** The control of the canvas for the rest of the view: fit, zoom, reveal, focus. */

import type { useReactFlow } from "@xyflow/react";
import { type Item, parseItem } from "../../model/action.ts";
import type { Point, Rect } from "../../model/geometry.ts";
import { fitView, type Viewport } from "../../model/viewport.ts";
import type { CanvasControl } from "../canvas-ref.ts";
import { FAR_ZOOM, LEGIBLE_ZOOM, NAMES_ZOOM, type Stage } from "./stage.ts";

export const MIN_ZOOM = 0.05;
export const MAX_ZOOM = 3;

type Flow = ReturnType<typeof useReactFlow>;

export function centreViewport(
  stage: Stage,
  flow: Flow,
  at: Point,
  zoom = stage.viewport.zoom,
): Promise<boolean> {
  return flow.setViewport({ x: stage.width / 2 - at.x * zoom, y: stage.height / 2 - at.y * zoom, zoom });
}

export function canvasControl(stage: Stage, root: HTMLElement, flow: Flow): CanvasControl {
  const rectOf = (which: Item): Rect | undefined => {
    const { kind, name } = parseItem(which);
    if (kind === "block") return stage.scene?.places.get(name);
    if (kind === "wire") return stage.scene?.wires.get(name)?.box;
    return stage.scene?.boxes.find((box) => box.kind === `${kind}s` && box.name === name)?.rect;
  };
  const everything = () => [
    ...(stage.scene?.places.values() ?? []),
    ...(stage.scene?.boxes.map((box) => box.rect) ?? []),
  ];
  const look = (rects: (Rect | undefined)[]): Viewport | undefined => {
    const { left, top, width, height } = root.getBoundingClientRect();
    const tools = [...root.querySelectorAll(".canvas-tools, .minimap")]
      .map((each) => each.getBoundingClientRect())
      .filter((tool) => tool.width > 0)
      .map((tool) => ({ x: tool.x - left, y: tool.y - top, width: tool.width, height: tool.height }));
    return fitView(
      rects.filter((rect) => rect !== undefined),
      { width, height, minZoom: MIN_ZOOM, tools },
    );
  };
  return {
    centre: () => stage.toPage(stage.width / 2, stage.height / 2),
    fit(items) {
      // After the next paint: what was just moved is where it will be.
      requestAnimationFrame(() => {
        const view = look(items?.size ? [...items].map(rectOf) : everything());
        if (view) void flow.setViewport(view);
      });
    },
    showInitialView() {
      const around = stage.scene?.bounds();
      const whole = look(everything());
      if (around === undefined || whole === undefined) return;
      // A page that would not be legible as a whole is shown from its top left corner.
      const zoom = LEGIBLE_ZOOM;
      const left = Math.max(24, (stage.width - around.width * zoom) / 2);
      const corner = { x: left - around.x * zoom, y: 24 - around.y * zoom, zoom };
      const readable = whole.zoom >= zoom || (whole.zoom < FAR_ZOOM && whole.zoom >= NAMES_ZOOM);
      void flow.setViewport(readable ? whole : corner);
    },
    zoom(factor) {
      const zoom =
        factor === "one" ? 1 : Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, stage.viewport.zoom * factor));
      void centreViewport(stage, flow, stage.toPage(stage.width / 2, stage.height / 2), zoom);
    },
    reveal(which) {
      const rect = rectOf(which);
      if (rect === undefined) return;
      const seen = stage.visibleRect(-24);
      const inside =
        rect.x >= seen.x &&
        rect.y >= seen.y &&
        rect.x + rect.width <= seen.x + seen.width &&
        rect.y + rect.height <= seen.y + seen.height;
      if (!inside)
        void centreViewport(
          stage,
          flow,
          { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 },
          Math.max(stage.viewport.zoom, 0.6),
        );
    },
    focus: () => root.focus({ preventScroll: true }),
  };
}
