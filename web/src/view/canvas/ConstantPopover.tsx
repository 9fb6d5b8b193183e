import { useViewport } from "@xyflow/react";
import { type KeyboardEvent, type ReactElement, useContext, useEffect, useRef } from "react";
import { createPortal } from "react-dom";
import { type Constant, constantsOf } from "../../model/graph.ts";
import type { PageState } from "../../state/store.ts";
import { canvasRef } from "../canvas-ref.ts";
import { Icon } from "../shell/icons.tsx";
import { useStrings } from "../strings.ts";
import { ui, useUi } from "../ui.ts";
import { ConstantEditor } from "../widgets/ConstantEditor.tsx";
import { BlockContext } from "./context.ts";

const WIDTH = 344;
const MIN_HEIGHT = 360;
const EDGE = 8;

/** The editor of a constant beside its block, until Escape or loss of focus. */
export function ConstantPopover({ page }: { page: PageState }): ReactElement | null {
  const open = useUi((state) => state.constant);
  const view = open && page.graph.blocks.get(open.block);
  const constants = view ? constantsOf(view) : [];
  const shown = constants.find((each) => each.name === open?.name);
  useEffect(() => ui.closeConstant, []);
  if (open === null || shown === undefined) return null;
  return createPortal(
    <Box key={`${open.block} ${open.name}`} page={page} block={open.block} shown={shown} all={constants} />,
    document.body,
  );
}

interface BoxProps {
  page: PageState;
  block: string;
  shown: Constant;
  all: readonly Constant[];
}

function Box({ page, block, shown, all }: BoxProps): ReactElement {
  const t = useStrings();
  const { set } = useContext(BlockContext);
  const root = useRef<HTMLDivElement>(null);
  const place = usePlace(page, block);
  useEffect(() => {
    const first = (what: string) => root.current?.querySelector<HTMLElement>(what);
    (first(".cell") ?? first("button"))?.focus();
  }, []);
  function close(event: KeyboardEvent) {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    ui.closeConstant();
    canvasRef.current?.focus();
  }
  const { name, value, input } = shown;
  return (
    <div
      ref={root}
      className="constant-box"
      role="dialog"
      aria-label={t.constantOf(block, name)}
      style={place}
      onKeyDown={close}
      onBlur={(event) => {
        if (event.relatedTarget && !event.currentTarget.contains(event.relatedTarget)) ui.closeConstant();
      }}
    >
      <div className="constant-title">
        <strong>{block}</strong>
        {all.map(({ name: each }) =>
          all.length === 1 ? (
            <span key={each}>{each}</span>
          ) : (
            <button
              key={each}
              type="button"
              className="button"
              aria-pressed={each === name}
              onClick={() => ui.openConstant(block, each)}
            >
              {each}
            </button>
          ),
        )}
        <button
          type="button"
          className="button icon plain"
          aria-label={t.close}
          title={t.close}
          onClick={() => {
            ui.closeConstant();
            canvasRef.current?.focus();
          }}
        >
          <Icon name="close" />
        </button>
      </div>
      <ConstantEditor
        label={name}
        free={input !== undefined}
        value={value}
        onChange={(next) => (input ? set.input(input, next) : set.attr(block, name, next))}
      />
    </div>
  );
}

/** The position: right of the block, or left of it, inside the window. */
function usePlace(page: PageState, block: string): { left: number; top: number; maxHeight: number } {
  const { x, y, zoom } = useViewport();
  const paper = document.querySelector(".canvas")?.getBoundingClientRect() ?? { left: 0, top: 0 };
  const rect = page.places.get(block) ?? { x: 0, y: 0, width: 0, height: 0 };
  const [begin, end] = [rect.x, rect.x + rect.width].map((each) => paper.left + x + each * zoom);
  const right = (end as number) + EDGE;
  const left = right + WIDTH + EDGE > innerWidth ? (begin as number) - WIDTH - EDGE : right;
  const top = within(paper.top + y + rect.y * zoom, innerHeight - MIN_HEIGHT);
  return { left: within(left, innerWidth - WIDTH - EDGE), top, maxHeight: innerHeight - top - EDGE };
}

function within(at: number, most: number): number {
  return Math.max(EDGE, Math.min(at, most));
}
