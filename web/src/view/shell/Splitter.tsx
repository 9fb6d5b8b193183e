import { type KeyboardEvent, type PointerEvent, type ReactElement, useRef } from "react";

const MIN_SIZE = 160;
const STEP = 16;

interface Props {
  /** The side of the panel that it resizes. */
  side: "left" | "right" | "bottom";
  size: number;
  most: number;
  label: string;
  /** The id of the panel that it resizes. */
  controls: string;
  onSize(size: number): void;
  onCollapse(): void;
}

/** The splitter of a panel: dragged, or moved by arrow keys; Enter and a double click collapse the panel. */
export function Splitter({ side, size, most, label, controls, onSize, onCollapse }: Props): ReactElement {
  const from = useRef<{ at: number; size: number } | null>(null);
  const upright = side !== "bottom";
  const grows = side === "left" ? 1 : -1;
  const set = (next: number) => onSize(Math.round(Math.min(most, Math.max(MIN_SIZE, next))));

  function down(event: PointerEvent<HTMLDivElement>) {
    event.currentTarget.setPointerCapture(event.pointerId);
    from.current = { at: upright ? event.clientX : event.clientY, size };
  }
  function move(event: PointerEvent) {
    if (from.current === null) return;
    set(from.current.size + grows * ((upright ? event.clientX : event.clientY) - from.current.at));
  }
  function key(event: KeyboardEvent) {
    const steps: Record<string, number> = upright
      ? { ArrowRight: STEP * grows, ArrowLeft: -STEP * grows }
      : { ArrowUp: STEP, ArrowDown: -STEP };
    const step = steps[event.key];
    if (step !== undefined) set(size + step);
    else if (event.key === "Home") set(MIN_SIZE);
    else if (event.key === "End") set(most);
    else if (event.key === "Enter") onCollapse();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: an <hr> cannot be focused and moved.
    <div
      className={`splitter ${side}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-controls={controls}
      aria-orientation={upright ? "vertical" : "horizontal"}
      aria-valuenow={size}
      aria-valuemin={MIN_SIZE}
      aria-valuemax={most}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={() => {
        from.current = null;
      }}
      onDoubleClick={onCollapse}
      onKeyDown={key}
    />
  );
}
