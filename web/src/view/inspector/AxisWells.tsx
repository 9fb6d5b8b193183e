import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { type Arrangement, moveAxis, nextWell, WELLS, type Well, wellOf } from "../../model/wells.ts";
import type { TensorInfo } from "./TensorView.tsx";
import { useInspectorWords } from "./words.ts";

interface Props {
  tensor: TensorInfo;
  arrangement: Arrangement;
  onArrange(arrangement: Arrangement): void;
}

/** Five wells for the axes. A chip is dragged from one to another, or moved by arrow keys. */
export function AxisWells({ tensor, arrangement, onArrange }: Props): ReactElement {
  const w = useInspectorWords();
  const id = useId();
  const [over, setOver] = useState<Well | null>(null);
  const moved = useRef<number | null>(null);
  // A chip in another well is another element: the focus goes with it, before the next key comes.
  useLayoutEffect(() => {
    if (moved.current !== null) document.getElementById(`${id}-${moved.current}`)?.focus();
    moved.current = null;
  });
  const { wells, at } = arrangement;
  const put = (axis: number, to: Well) => onArrange({ wells: moveAxis(wells, axis, to), at });

  function key(event: KeyboardEvent, axis: number) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key] as 1 | -1 | undefined;
    if (by === undefined) return;
    event.preventDefault();
    put(axis, nextWell(wellOf(wells, axis), by));
    moved.current = axis;
  }
  function drag(event: PointerEvent<HTMLElement>) {
    event.currentTarget.setPointerCapture(event.pointerId);
    setOver(wellAt(event));
  }
  function drop(event: PointerEvent<HTMLElement>, axis: number) {
    if (over === null) return;
    const to = wellAt(event);
    setOver(null);
    if (to !== null) put(axis, to);
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    <div className="wells" role="group" aria-label={w.axes}>
      {WELLS.map((well) => {
        const here = tensor.shape.map((_, axis) => axis).filter((axis) => wellOf(wells, axis) === well);
        return (
          <div key={well} className={over === well ? "well over" : "well"} data-well={well}>
            <span className="well-name">{w.wells[well]}</span>
            {here.map((axis) => (
              <button
                key={axis}
                id={`${id}-${axis}`}
                type="button"
                className="axis-chip"
                aria-label={w.axisIn(
                  tensor.axes[axis] as string,
                  tensor.shape[axis] as number,
                  w.wells[well],
                )}
                title={w.moveAxis}
                onKeyDown={(event) => key(event, axis)}
                onPointerDown={drag}
                onPointerMove={(event) => over !== null && setOver(wellAt(event))}
                onPointerUp={(event) => drop(event, axis)}
                onPointerCancel={() => setOver(null)}
              >
                {tensor.axes[axis]} <span className="axis-size">{tensor.shape[axis]}</span>
              </button>
            ))}
          </div>
        );
      })}
    </div>
  );
}

function wellAt({ clientX, clientY }: PointerEvent): Well | null {
  const well = document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>("[data-well]");
  return (well?.dataset.well as Well | undefined) ?? null;
}

/** A slider for each axis that is not shown and has more than one place. */
export function AxisSliders({
  tensor,
  arrangement,
  hidden = arrangement.wells.sliders,
  onArrange,
}: Props & { hidden?: readonly (number | null)[] }): ReactElement | null {
  const w = useInspectorWords();
  const { wells, at } = arrangement;
  const axes = hidden.filter((axis) => axis !== null && (tensor.shape[axis] as number) > 1) as number[];
  if (axes.length === 0) return null;
  return (
    <div className="axis-sliders">
      {axes.map((axis) => (
        <label key={axis} className="slice">
          <span className="mono">{tensor.axes[axis]}</span>
          <input
            type="range"
            min={0}
            max={(tensor.shape[axis] as number) - 1}
            value={at[axis]}
            aria-label={w.placeOn(tensor.axes[axis] as string)}
            onChange={(event) =>
              onArrange({
                wells,
                at: at.map((old, each) => (each === axis ? Number(event.target.value) : old)),
              })
            }
          />
          <span className="mono">
            {at[axis]}
            <span className="soft">/{(tensor.shape[axis] as number) - 1}</span>
          </span>
        </label>
      ))}
    </div>
  );
}
