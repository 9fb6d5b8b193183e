import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import {
  type Arrangement,
  AXIS_ROLES,
  type AxisRole,
  moveAxis,
  nextRole,
  roleOfAxis,
} from "../../model/axis-roles.ts";
import { useInspectorStrings } from "../strings.ts";
import type { TensorInfo } from "./HeatmapView.tsx";

interface Props {
  tensor: TensorInfo;
  arrangement: Arrangement;
  onArrange(arrangement: Arrangement): void;
}

/** The axis roles as drop targets. Axis chips are dragged between them, or moved by arrow keys. */
export function AxisRolePicker({ tensor, arrangement, onArrange }: Props): ReactElement {
  const t = useInspectorStrings();
  const id = useId();
  const [over, setOver] = useState<AxisRole | null>(null);
  const moved = useRef<number | null>(null);
  // A moved chip is a new element: the focus follows before the next key.
  useLayoutEffect(() => {
    if (moved.current !== null) document.getElementById(`${id}-${moved.current}`)?.focus();
    moved.current = null;
  });
  const { roles, at } = arrangement;
  const put = (axis: number, to: AxisRole) => onArrange({ roles: moveAxis(roles, axis, to), at });

  function key(event: KeyboardEvent, axis: number) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key] as 1 | -1 | undefined;
    if (by === undefined) return;
    event.preventDefault();
    put(axis, nextRole(roleOfAxis(roles, axis), by));
    moved.current = axis;
  }
  function drag(event: PointerEvent<HTMLElement>) {
    event.currentTarget.setPointerCapture(event.pointerId);
    setOver(roleAt(event));
  }
  function drop(event: PointerEvent<HTMLElement>, axis: number) {
    if (over === null) return;
    const to = roleAt(event);
    setOver(null);
    if (to !== null) put(axis, to);
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    <div className="axis-roles" role="group" aria-label={t.axes}>
      {AXIS_ROLES.map((role) => {
        const here = tensor.shape.map((_, axis) => axis).filter((axis) => roleOfAxis(roles, axis) === role);
        return (
          <div key={role} className={over === role ? "axis-role over" : "axis-role"} data-axis-role={role}>
            <span className="axis-role-name">{t.roles[role]}</span>
            {here.map((axis) => (
              <button
                key={axis}
                id={`${id}-${axis}`}
                type="button"
                className="axis-chip"
                aria-label={t.axisIn(
                  tensor.axes[axis] as string,
                  tensor.shape[axis] as number,
                  t.roles[role],
                )}
                title={t.moveAxis}
                onKeyDown={(event) => key(event, axis)}
                onPointerDown={drag}
                onPointerMove={(event) => over !== null && setOver(roleAt(event))}
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

function roleAt({ clientX, clientY }: PointerEvent): AxisRole | null {
  const role = document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>("[data-axis-role]");
  return (role?.dataset.axisRole as AxisRole | undefined) ?? null;
}

/** Sliders for the indices of axes that are not shown. */
export function AxisSliders({
  tensor,
  arrangement,
  hidden = arrangement.roles.sliders,
  onArrange,
}: Props & { hidden?: readonly (number | null)[] }): ReactElement | null {
  const t = useInspectorStrings();
  const { roles, at } = arrangement;
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
            aria-label={t.indexOnAxis(tensor.axes[axis] as string)}
            onChange={(event) =>
              onArrange({
                roles,
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
