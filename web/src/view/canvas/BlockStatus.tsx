import { type ReactElement, useContext, useEffect, useRef } from "react";
import { shortSpec } from "../../model/format.ts";
import type { BlockView } from "../../model/graph.ts";
import type { Spec } from "../../net/generated.ts";
import { live } from "../../state/live.ts";
import { useStrings } from "../strings.ts";
import { PageNumber } from "./context.ts";
import { planeText, planeTitle } from "./plane-text.ts";
import { BLANK_IMAGE, formatDuration, healthOf, thumbnailUrl } from "./thumbnails.ts";

/** Calls `draw` on mount and at each live change of a block, without a React render. */
function useLive<T extends HTMLElement>(
  block: string,
  draw: (element: T) => void,
): React.RefObject<T | null> {
  const ref = useRef<T>(null);
  const page = useContext(PageNumber);
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(() => {
    const show = () => {
      if (ref.current) latest.current(ref.current);
    };
    show();
    return live(page).onBlock(block, show);
  }, [page, block]);
  useEffect(() => {
    if (ref.current) draw(ref.current);
  });
  return ref;
}

/** The status mark of a block, which differs in shape and colour. */
export function StatusMark({ block }: { block: string }): ReactElement {
  const t = useStrings();
  const page = useContext(PageNumber);
  const ref = useLive<HTMLSpanElement>(block, (element) => {
    const state = live(page).blockState(block)?.state;
    element.className = `live-mark ${state ?? ""}`;
    element.title = (state && t.states[state]) ?? t.notRunYet;
  });
  return <span ref={ref} className="live-mark" role="img" aria-label={t.stateOf(block)} />;
}

const HEALTH = { nan: "NaN", inf: "Inf", zero: "0", ok: "" } as const;

/** The footer of a block: thumbnail, type or console line, time, and a mark for NaN, Inf, zeros or stale values. */
export function BlockFooter({ view, spec }: { view: BlockView; spec: Spec | undefined }): ReactElement {
  const t = useStrings();
  const page = useContext(PageNumber);
  const output = view.outputs[0];
  const ref = useLive<HTMLDivElement>(view.name, (element) => {
    const values = live(page);
    const state = values.blockState(view.name);
    const pin = output && `${view.name}:${output.key}`;
    const summary = pin === undefined ? undefined : values.summary(pin);
    const [picture, shape, time, health, bar] = ["img", ".spec", ".time", ".health", ".block-bar"].map(
      (part) => element.querySelector(part),
    );
    const printed = values.consoleLines.findLast((said) => said.block === view.name)?.text;
    (shape as HTMLElement).textContent = printed ?? (spec ? shortSpec(spec) : "");
    (picture as HTMLImageElement).src = thumbnailUrl(summary);
    (picture as HTMLImageElement).title = summary?.picture ? planeTitle(pin ?? "", summary.plane, t) : "";
    const stale = pin !== undefined && values.isStale(pin);
    const mark = healthOf(summary);
    (time as HTMLElement).textContent = [planeText(summary?.plane, t), timeText(state, t.states)]
      .filter(Boolean)
      .join(" · ");
    (health as HTMLElement).textContent = mark === "ok" ? (stale ? t.stale : "") : HEALTH[mark];
    (health as HTMLElement).className = `health ${mark === "ok" && stale ? "old" : mark}`;
    (bar as HTMLElement).className = `block-bar ${state?.state ?? ""}`;
  });
  return (
    <div className="block-footer" ref={ref}>
      <img src={BLANK_IMAGE} width={32} height={32} alt="" draggable={false} />
      <span className="spec mono" />
      <span className="time" />
      <span className="health" />
      <span className="block-bar" />
    </div>
  );
}

function timeText(
  state: ReturnType<ReturnType<typeof live>["blockState"]>,
  words: Record<string, string>,
): string {
  if (state === undefined) return "";
  if (state.state === "done" || state.state === "cached") {
    const time = state.seconds ? formatDuration(state.seconds) : "";
    return state.state === "cached" ? `${words.cached}` : time;
  }
  return words[state.state] ?? "";
}
