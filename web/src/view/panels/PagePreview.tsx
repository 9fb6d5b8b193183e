import { memo, type ReactElement } from "react";
import type { PageDocument } from "../../model/document.ts";
import { blockRects, type Curve, TITLE_HEIGHT } from "../../model/geometry.ts";
import { graphOf } from "../../model/graph.ts";
import { useStudio } from "../../state/store.ts";
import { Scene } from "../canvas/scene.ts";

const MARGIN = 40;

/** A preview of a page without text, for lesson cards. */
export const PagePreview = memo(function Sketch({
  document,
}: {
  document: PageDocument;
}): ReactElement | null {
  const ops = useStudio((state) => state.ops);
  const graph = graphOf(document, ops);
  const scene = new Scene(graph, blockRects(graph));
  const around = scene.bounds();
  if (around === undefined) return null;
  const view = [
    around.x - MARGIN,
    around.y - MARGIN,
    around.width + 2 * MARGIN,
    around.height + 2 * MARGIN,
  ].join(" ");
  return (
    <svg className="sketch" viewBox={view} aria-hidden="true">
      {scene.boxes.map(({ kind, name, rect }) => (
        <rect key={`${kind} ${name}`} className={kind} {...rect} rx={12} />
      ))}
      {[...scene.wires.values()].map(({ wire, curves }) => (
        <path key={wire.id} d={curves.map(curvePath).join("")} />
      ))}
      {[...scene.places].map(([name, rect]) => (
        <g key={name}>
          <rect className="block-box" {...rect} rx={12} />
          <rect className="block-head" {...rect} height={TITLE_HEIGHT} rx={12} />
        </g>
      ))}
    </svg>
  );
});

function curvePath([a, b, c, d]: Curve): string {
  return `M${a.x} ${a.y}C${b.x} ${b.y} ${c.x} ${c.y} ${d.x} ${d.y}`;
}
