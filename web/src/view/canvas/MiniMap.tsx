import { type PointerEvent, type ReactElement, useCallback, useEffect, useRef } from "react";
import { bounds, type Point } from "../../model/geometry.ts";
import { useStrings } from "../strings.ts";
import type { Stage } from "./stage.ts";

const WIDTH = 176;
const HEIGHT = 112;

/** The minimap: a click or drag pans. The keyboard has commands for the same. */
export function MiniMap({ stage, onGo }: { stage: Stage; onGo(at: Point): void }): ReactElement {
  const t = useStrings();
  const ref = useRef<HTMLCanvasElement>(null);
  const place = useRef({ x: 0, y: 0, scale: 1 });
  const waiting = useRef(0);
  const held = useRef(false);

  const paint = useCallback(() => {
    waiting.current = 0;
    const canvas = ref.current;
    const { scene, colours } = stage;
    const seen = stage.visibleRect();
    const around = scene?.bounds() && bounds([scene.bounds() ?? seen, seen]);
    if (canvas === null || !scene || !around || !colours) return;
    const g = canvas.getContext("2d") as CanvasRenderingContext2D;
    // The map is frozen during a drag, so that it does not move below the pointer.
    if (!held.current) {
      const scale = Math.min((WIDTH - 16) / around.width, (HEIGHT - 16) / around.height, 0.2);
      const x = (WIDTH - around.width * scale) / 2 - around.x * scale;
      const y = (HEIGHT - around.height * scale) / 2 - around.y * scale;
      place.current = { x, y, scale };
    }
    const { x, y, scale } = place.current;
    g.setTransform(2, 0, 0, 2, 0, 0);
    g.clearRect(0, 0, WIDTH, HEIGHT);
    g.fillStyle = colours.frame;
    for (const { kind, rect } of scene.boxes) {
      g.fillStyle = kind === "frames" ? colours.frame : kind === "notes" ? colours.noteLine : colours.line;
      g.fillRect(x + rect.x * scale, y + rect.y * scale, rect.width * scale, rect.height * scale);
    }
    for (const name of scene.places.keys()) {
      const rect = scene.at(name);
      const bad = scene.conflicts.has(name) || stage.live.state(name)?.state === "failed";
      g.fillStyle = bad ? colours.bad : stage.emphasis.blocks.has(name) ? colours.accent : colours.lineStrong;
      g.fillRect(
        x + rect.x * scale,
        y + rect.y * scale,
        Math.max(rect.width * scale, 1.5),
        Math.max(rect.height * scale, 1.5),
      );
    }
    g.strokeStyle = colours.accent;
    g.lineWidth = 1.5;
    g.strokeRect(x + seen.x * scale, y + seen.y * scale, seen.width * scale, seen.height * scale);
  }, [stage]);

  useEffect(() => {
    // Throttled: it need not follow every frame.
    stage.onPaint = () => {
      if (waiting.current === 0) waiting.current = window.setTimeout(paint, 80);
    };
    paint();
    return () => {
      stage.onPaint = () => {};
      clearTimeout(waiting.current);
    };
  }, [stage, paint]);

  function go(event: PointerEvent<HTMLCanvasElement>) {
    const box = event.currentTarget.getBoundingClientRect();
    const { x, y, scale } = place.current;
    onGo({ x: (event.clientX - box.left - x) / scale, y: (event.clientY - box.top - y) / scale });
  }
  return (
    <canvas
      ref={ref}
      className="minimap"
      width={WIDTH * 2}
      height={HEIGHT * 2}
      role="img"
      aria-label={t.miniMap}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        held.current = true;
        go(event);
      }}
      onPointerMove={(event) => event.buttons === 1 && go(event)}
      onLostPointerCapture={() => {
        held.current = false;
        stage.requestPaint();
      }}
    />
  );
}
