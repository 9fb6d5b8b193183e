import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactElement,
  useEffect,
  useRef,
  useState,
} from "react";
import { elementCount, ravelIndex, unravelIndex } from "../../model/indexing.ts";
import { cursor } from "../../state/cursor.ts";
import { type PageState, studio } from "../../state/store.ts";
import { Icon } from "../shell/icons.tsx";
import { useExplainStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { Contributions } from "./Contributions.tsx";
import { cellSummary } from "./cell-summary.ts";
import { Differences } from "./Differences.tsx";
import { type Explanation, rangesAlike } from "./explanation.ts";
import { Rows } from "./Rows.tsx";
import type { PanelControl } from "./TensorPanel.tsx";
import { useExplanation } from "./useExplanation.ts";
import { useHighlights } from "./useHighlights.ts";

/** The time per cell while playing, in milliseconds. */
const BEAT = 400;

/** Explain: inputs, op and outputs of a block side by side, its gradients below, and second gradients below those. */
export default function Explain({ page, block }: { page: PageState; block: string }): ReactElement {
  const t = useExplainStrings();
  const { explanation, problem } = useExplanation(page, block);
  const panels = useRef(new Map<string, PanelControl>());
  const root = useRef<HTMLDivElement>(null);
  // Rows whose tensors have like ranges share one, unless the user has chosen.
  const [locked, setLocked] = useState<boolean | null>(null);
  const [playing, setPlaying] = useState(false);
  const at = useHighlights(explanation, panels.current);

  useEffect(() => {
    root.current?.focus();
    // A pinned cell stays for the inspector.
    return () => {
      if (!cursor.pinned) cursor.clear();
    };
  }, []);

  /** The cursor, if it is at a tensor of this view. */
  const here = () =>
    cursor.current?.page === page.page && explanation?.tensors.has(cursor.current.pin)
      ? cursor.current
      : null;
  /** Moves the cursor to the next cell; false at the end. */
  const step = (by: 1 | -1): boolean => {
    const now = here();
    const pin = now?.pin ?? firstOutput(explanation);
    const shape = explanation?.tensors.get(pin ?? "")?.tensor.shape;
    if (pin === undefined || shape === undefined) return false;
    const offset = now ? ravelIndex(now.cell, shape) + by : 0;
    if (offset < 0 || offset >= elementCount(shape)) return false;
    cursor.moveTo({ page: page.page, pin, cell: unravelIndex(offset, shape) });
    return true;
  };
  const next = useRef(step);
  next.current = step;
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => {
      if (!next.current(1)) setPlaying(false);
    }, BEAT);
    return () => clearInterval(timer);
  }, [playing]);

  function key(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target instanceof HTMLInputElement && !/^(range|checkbox)$/.test(event.target.type);
    const letter = event.key.toLowerCase();
    if (event.key === "Escape" && typing) root.current?.focus();
    else if (event.key === "Escape") {
      if (here() && cursor.pinned) cursor.release();
      else ui.closeExplain();
    } else if (letter === "s" && !typing) step(event.shiftKey ? -1 : 1);
    else if (letter === "p" && !typing) setPlaying(!playing);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  const view = page.graph.blocks.get(block);
  return (
    <main className="explain" ref={root} tabIndex={-1} onKeyDown={key} aria-label={t.title(block)}>
      <header className="explain-bar">
        <button type="button" className="button" onClick={ui.closeExplain}>
          <Icon name="left" />
          {t.close}
        </button>
        <h2>
          {t.title(block)} <span className="soft">{view?.op}</span>
        </h2>
        <span className="explain-buttons">
          <IconButton icon="left" label={t.stepBack} onClick={() => step(-1)} />
          <IconButton
            icon={playing ? "pause" : "play"}
            label={playing ? t.pause : t.play}
            onClick={() => setPlaying(!playing)}
          />
          <IconButton icon="right" label={t.step} onClick={() => step(1)} />
        </span>
        <label className="small">
          <input
            type="checkbox"
            checked={locked ?? (explanation !== null && rangesAlike(explanation))}
            onChange={(event) => setLocked(event.target.checked)}
          />{" "}
          {t.sharedRange}
        </label>
        <ul className="explain-legend small" aria-label={t.legend.label}>
          {(["from", "feeds", "winner", "tie"] as const).map((kind) => (
            <li key={kind}>
              <span className={`explain-swatch ${kind}`} aria-hidden="true" />
              {t.legend[kind]}
            </li>
          ))}
        </ul>
      </header>
      {explanation === null ? (
        <div className="explain-empty">
          <p>{problem || t.loading}</p>
          {problem && (
            <button
              type="button"
              className="button primary"
              onClick={() => studio.run(page.page, { to: [block] })}
            >
              {t.run}
            </button>
          )}
        </div>
      ) : (
        <div className="explain-body">
          <div
            className="explain-rows"
            style={{ "--strips": Math.min(explanation.gradientRows.length, 3) } as CSSProperties}
          >
            <Rows explanation={explanation} graph={page.graph} locked={locked} panels={panels.current} />
          </div>
          <aside className="explain-aside" aria-label={t.contributions}>
            {at === null ? (
              <>
                <p className="empty">{t.noCursor}</p>
                <p className="soft small">{t.keys}</p>
              </>
            ) : (
              <Contributions key={at.revision} explanation={explanation} pin={at.pin} offset={at.offset} />
            )}
            <Differences explanation={explanation} graph={page.graph} at={at} />
          </aside>
        </div>
      )}
      <p className="explain-status" role="status" aria-live="polite">
        {at !== null && explanation !== null && (
          <>
            {at.pinned && <b>{t.pinned}: </b>}
            {cellSummary(explanation, at.pin, at.offset, t)}
          </>
        )}
      </p>
    </main>
  );
}

function IconButton(props: {
  icon: "left" | "right" | "play" | "pause";
  label: string;
  onClick(): void;
}): ReactElement {
  return (
    <button
      type="button"
      className="button icon"
      aria-label={props.label}
      title={props.label}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}

function firstOutput(explanation: Explanation | null): string | undefined {
  const rows = explanation?.blocks.map((row) => row.explained) ?? [];
  const explained = rows.find((each) => each.block === explanation?.block) ?? rows[0];
  return explained?.tensors[explained.outputs[0] ?? ""]?.pin;
}
