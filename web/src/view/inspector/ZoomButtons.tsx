import type { ReactElement } from "react";
import { Icon } from "../shell/icons.tsx";
import { useInspectorStrings } from "../strings.ts";

const ICONS = { 1: "plus", [-1]: "minus", 0: "fit" } as const;

/** Zoom in, zoom out, fit. */
export function ZoomButtons({ onZoom }: { onZoom(by: 1 | 0 | -1): void }): ReactElement {
  const t = useInspectorStrings();
  return (
    <span className="map-zoom">
      {([1, -1, 0] as const).map((by) => (
        <button
          key={by}
          type="button"
          className="button icon"
          aria-label={t.zoom[by]}
          title={t.zoom[by]}
          onClick={() => onZoom(by)}
        >
          <Icon name={ICONS[by]} />
        </button>
      ))}
    </span>
  );
}
