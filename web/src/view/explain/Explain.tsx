import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactElement,
  useEffect,
  useRef,
  useState,
} from "react";
import { addGradient, gradientsFor } from "../../model/actions.ts";
import { cellAt, placeOf } from "../../model/cells.ts";
import { gradientOf, lightsOf } from "../../model/explaining.ts";
import type { Graph } from "../../model/graph.ts";
import type { Range } from "../../model/shades.ts";
import { type Cursor, cursor } from "../../state/cursor.ts";
import { live } from "../../state/live.ts";
import { type PageState, studio } from "../../state/store.ts";
import { shownAttr } from "../canvas/values.ts";
import { act, useOps } from "../page.ts";
import { Formula } from "../panels/Docs.tsx";
import { Icon } from "../shell/icons.tsx";
import { ui } from "../ui.ts";
import { Contributions } from "./Contributions.tsx";
import { Differences } from "./Differences.tsx";
import { type HeldTensor, loadPicture, type Picture, type Shown, sharedRange } from "./picture.ts";
import { sentenceOf, whereIs } from "./sentence.ts";
import { type PanelControl, TensorPanel } from "./TensorPanel.tsx";
import { useExplainWords } from "./words.ts";

/** How long a position is shown while they are played, in milliseconds. */
const BEAT = 400;
/** While a page runs, values come many times a second; this often is enough. */
const PAUSE = 250;

/** A block cell by cell: inputs, op and output side by side, its gradients below, and theirs below those. */
export default function Explain({ page, block }: { page: PageState; block: string }): ReactElement {
  const w = useExplainWords();
  const { picture, problem } = usePicture(page, block);
  const panels = useRef(new Map<string, PanelControl>());
  const root = useRef<HTMLDivElement>(null);
  const [locked, setLocked] = useState(true);
  const [playing, setPlaying] = useState(false);
  const at = useLights(picture, panels.current);

  useEffect(() => {
    root.current?.focus();
    return () => cursor.clear();
  }, []);

  /** The next position of the tensor that is looked at, or of the block's output. */
  const step = (by: 1 | -1): boolean => {
    const pin = cursor.now?.pin ?? firstOutput(picture);
    const shape = picture?.tensors.get(pin ?? "")?.tensor.shape;
    if (pin === undefined || shape === undefined) return false;
    const place = cursor.now ? placeOf(cursor.now.cell, shape) + by : 0;
    if (place < 0 || place >= shape.reduce((a, b) => a * b, 1)) return false;
    cursor.carry({ page: page.page, pin, cell: cellAt(place, shape) });
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
    const typing = event.target instanceof HTMLInputElement && event.target.type !== "range";
    const letter = event.key.toLowerCase();
    if (event.key === "Escape") {
      if (cursor.pinned) cursor.release();
      else ui.closeExplain();
    } else if (letter === "s" && !typing) step(event.shiftKey ? -1 : 1);
    else if (letter === "p" && !typing) setPlaying(!playing);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  const view = page.graph.blocks.get(block);
  return (
    <main className="explain" ref={root} tabIndex={-1} onKeyDown={key} aria-label={w.title(block)}>
      <header className="explain-bar">
        <button type="button" className="button" onClick={ui.closeExplain}>
          <Icon name="left" />
          {w.close}
        </button>
        <h2>
          {w.title(block)} <span className="soft">{view?.op}</span>
        </h2>
        <span className="explain-buttons">
          <IconButton icon="left" label={w.stepBack} onClick={() => step(-1)} />
          <IconButton
            icon={playing ? "pause" : "play"}
            label={playing ? w.pause : w.play}
            onClick={() => setPlaying(!playing)}
          />
          <IconButton icon="right" label={w.step} onClick={() => step(1)} />
        </span>
        <label className="small">
          <input type="checkbox" checked={locked} onChange={() => setLocked(!locked)} /> {w.oneRange}
        </label>
        <ul className="explain-legend small" aria-label={w.legend.label}>
          {(["from", "feeds", "winner", "tie"] as const).map((kind) => (
            <li key={kind}>
              <span className={`explain-swatch ${kind}`} aria-hidden="true" />
              {w.legend[kind]}
            </li>
          ))}
        </ul>
      </header>
      {picture === null ? (
        <div className="explain-empty">
          <p>{problem || w.loading}</p>
          {problem && (
            <button
              type="button"
              className="button primary"
              onClick={() => studio.run(page.page, { to: [block] })}
            >
              {w.run}
            </button>
          )}
        </div>
      ) : (
        <div className="explain-body">
          <div
            className="explain-rows"
            style={{ "--strips": Math.min(picture.shown.length, 3) } as CSSProperties}
          >
            <Rows picture={picture} graph={page.graph} locked={locked} panels={panels.current} />
          </div>
          <aside className="explain-aside" aria-label={w.contributions}>
            {at === null ? (
              <>
                <p className="empty">{w.pointAt}</p>
                <p className="soft small">{w.keys}</p>
              </>
            ) : (
              <Contributions picture={picture} pin={at.pin} place={at.place} />
            )}
            <Differences ops={opsFor(picture, at?.pin)} />
          </aside>
        </div>
      )}
      <p className="explain-status" role="status" aria-live="polite">
        {at !== null && picture !== null && (
          <>
            {at.pinned && <b>{w.pinned}: </b>}
            {sentenceOf(picture, at.pin, at.place, w)}
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

function firstOutput(picture: Picture | null): string | undefined {
  const explained = picture?.shown[0]?.row.explained;
  return explained?.tensors[explained.outputs[0] ?? ""]?.pin;
}

/** The ops whose differences matter at a cell: the one that made it, or else those that take it. */
function opsFor(picture: Picture, pin: string | undefined): string[] {
  const { made, taken } = pin === undefined ? { made: [], taken: [] } : whereIs(picture, pin);
  const rows = (made.length ? made : taken).map(({ row }) => row);
  return [...new Set((rows.length ? rows : picture.rows).map((row) => row.explained.op))];
}

/** The picture of a block, made anew whenever the page gave other values. */
function usePicture(page: PageState, block: string): { picture: Picture | null; problem: string } {
  const ops = useOps();
  const [picture, setPicture] = useState<Picture | null>(null);
  const [problem, setProblem] = useState("");
  const graph = useRef<Graph>(page.graph);
  graph.current = page.graph;
  const number = page.page;
  // What blocks there are decides what is shown; where they stand does not.
  const blocks = [...page.graph.blocks.keys()].join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new block may be a gradient of this one.
  useEffect(() => {
    let ended = false;
    let waiting = 0;
    let loading = false;
    let again = false;
    // One after the other: a page that learns has new values before the last ones are here.
    const load = async () => {
      loading = true;
      try {
        const found = await loadPicture(number, block, graph.current, ops);
        if (ended) return;
        setPicture(found);
        setProblem("");
      } catch (error) {
        if (!ended) setProblem((error as Error).message);
      } finally {
        loading = false;
        if (again) later();
      }
    };
    const later = () => {
      again = loading;
      if (waiting !== 0 || loading || ended) return;
      waiting = window.setTimeout(() => {
        waiting = 0;
        void load();
      }, PAUSE);
    };
    void load();
    const stop = live(number).onAny(later);
    return () => {
      ended = true;
      stop();
      clearTimeout(waiting);
    };
  }, [number, block, ops, blocks]);
  return { picture, problem };
}

interface At {
  readonly pin: string;
  readonly place: number;
  readonly pinned: boolean;
}

/** Lights up what belongs to the cursor, at once and without React; gives the cell for what may follow a frame later. */
function useLights(picture: Picture | null, panels: ReadonlyMap<string, PanelControl>): At | null {
  const [at, setAt] = useState<At | null>(null);
  useEffect(() => {
    if (picture === null) return;
    let waiting = 0;
    const show = () => {
      const found = placeAt(picture, cursor.now);
      const lights = found && lightsOf(picture.rows, picture.twins, picture.holding, found.pin, found.place);
      for (const [pin, panel] of panels) {
        const lit = lights?.get(pin);
        panel.light(lit, cursor.pinned);
        if (lit && pin !== hovered(found)) panel.bring(lit);
      }
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => setAt(found && { ...found, pinned: cursor.pinned }));
      if (found && cursor.pinned) void fetchMissing(picture, found, show);
    };
    show();
    const stop = cursor.onChange(show);
    return () => {
      stop();
      cancelAnimationFrame(waiting);
    };
  }, [picture, panels]);
  return at;
}

/** The tensor under the pointer stays as it is; the others show what belongs to it. */
function hovered(found: { pin: string } | null): string | undefined {
  return document.querySelector(".explain-map:hover") ? found?.pin : undefined;
}

function placeAt(picture: Picture, now: Cursor | null): { pin: string; place: number } | null {
  const shape = now && picture.tensors.get(now.pin)?.tensor.shape;
  if (!now || now.page !== picture.page || shape?.length !== now.cell.length) return null;
  const inside = now.cell.every((place, axis) => place < (shape[axis] as number));
  return inside ? { pin: now.pin, place: placeOf(now.cell, shape) } : null;
}

/** Of tensors that are too large to be here, what the cell needs; then it is shown again. */
async function fetchMissing(
  picture: Picture,
  { pin, place }: { pin: string; place: number },
  show: () => void,
): Promise<void> {
  const lights = lightsOf(picture.rows, picture.twins, picture.holding, pin, place);
  const missing = [...lights].flatMap(([tensor, lit]) => {
    const held = picture.tensors.get(tensor);
    const places = [...lit.values()].flatMap((each) => [...each]);
    return held && places.some((each) => held.at(each) === undefined) ? [{ held, places }] : [];
  });
  if (missing.length === 0) return;
  const fetched = await Promise.all(missing.map(({ held, places }) => held.fetch(places)));
  if (fetched.includes(true)) show();
}

interface RowsProps {
  picture: Picture;
  graph: Graph;
  locked: boolean;
  panels: Map<string, PanelControl>;
}

function Rows({ picture, graph, locked, panels }: RowsProps): ReactElement {
  const w = useExplainWords();
  const titles = [w.forward, w.gradient, w.secondGradient];
  const seen = new Set<string>();
  return (
    <>
      {[0, 1, 2].map((depth) => {
        const here = picture.shown.filter((each) => each.depth === depth);
        const above = picture.shown.filter((each) => each.depth === depth - 1);
        if (here.length === 0 && above.length === 0) return null;
        const strips = here.map((shown) => {
          const names = Object.keys(shown.row.explained.tensors).filter(
            (name) =>
              (shown.row.nests.length === 0 || shown.row.nests.some((nest) => nest.has(name))) &&
              !seen.has(shown.row.explained.tensors[name]?.pin ?? ""),
          );
          for (const name of names) seen.add(shown.row.explained.tensors[name]?.pin ?? "");
          return { shown, names };
        });
        const held = strips.flatMap(({ shown, names }) =>
          names.flatMap((name) => picture.tensors.get(shown.row.explained.tensors[name]?.pin ?? "") ?? []),
        );
        const common = locked ? sharedRange(held) : undefined;
        return (
          <section className="explain-depth" key={depth} aria-label={titles[depth]}>
            <h3 className="explain-title">{titles[depth]}</h3>
            {strips.map(({ shown, names }) => (
              <Strip
                key={shown.row.explained.block}
                picture={picture}
                graph={graph}
                shown={shown}
                names={names}
                range={common}
                panels={panels}
              />
            ))}
            {depth > 0 && <Missing picture={picture} graph={graph} above={above} here={here} />}
          </section>
        );
      })}
    </>
  );
}

interface StripProps {
  picture: Picture;
  graph: Graph;
  shown: Shown;
  /** The tensors that no row above shows. */
  names: readonly string[];
  range: Range | undefined;
  panels: Map<string, PanelControl>;
}

/** One block. Forward and second gradients run from left to right, gradients from right to left. */
function Strip({ picture, graph, shown: { row, depth }, names, range, panels }: StripProps): ReactElement {
  const w = useExplainWords();
  const { explained } = row;
  const outputs = names.filter((name) => explained.outputs.includes(name));
  const inputs = names.filter((name) => !explained.outputs.includes(name));
  const panel = (name: string) => {
    const held = picture.tensors.get(explained.tensors[name]?.pin ?? "") as HeldTensor;
    const { pin } = held.tensor;
    return (
      <TensorPanel
        key={pin}
        page={picture.page}
        held={held}
        name={name}
        role={explained.outputs.includes(name) ? w.output : w.input}
        range={range ?? held.range}
        control={(control) => {
          if (control) panels.set(pin, control);
          else panels.delete(pin);
        }}
      />
    );
  };
  const mirrored = depth === 1;
  const [left, right] = mirrored ? [outputs, inputs] : [inputs, outputs];
  return (
    <div className={mirrored ? "explain-strip mirrored" : "explain-strip"}>
      <div className="explain-side">{left.map(panel)}</div>
      <OpCard graph={graph} shown={{ row, depth }} />
      <div className="explain-side">{right.map(panel)}</div>
    </div>
  );
}

function OpCard({ graph, shown: { row, depth } }: { graph: Graph; shown: Shown }): ReactElement {
  const w = useExplainWords();
  const ops = useOps();
  const { block, op } = row.explained;
  const info = ops.get(op);
  const attrs = graph.blocks.get(block)?.rows ?? [];
  return (
    <div className="explain-op">
      <span className="explain-arrow" aria-hidden="true">
        {depth === 1 ? "←" : "→"}
      </span>
      <b>{op}</b>
      <span className="mono soft small">{block}</span>
      {info?.formula && <Formula formula={info.formula} />}
      {attrs.length > 0 && (
        <dl className="explain-attrs">
          {attrs.map((attr) => (
            <div key={attr.name}>
              <dt>{attr.name}</dt>
              <dd className="mono">{shownAttr(attr)}</dd>
            </div>
          ))}
        </dl>
      )}
      {row.nests.length === 0 && <p className="small">{w.noWays(op)}</p>}
    </div>
  );
}

/** Gradients of the row above that are not on the page yet: each can be added. */
function Missing({
  picture,
  graph,
  above,
  here,
}: {
  picture: Picture;
  graph: Graph;
  above: readonly Shown[];
  here: readonly Shown[];
}): ReactElement {
  const w = useExplainWords();
  const ops = useOps();
  const offers = above.flatMap(({ row: { explained } }) => {
    const view = graph.blocks.get(explained.block);
    const made = here
      .filter(({ row }) => row.explained.forward === explained.block)
      .map(({ row }) => gradientOf(explained, row.explained, ops)?.input);
    return (view ? gradientsFor(view) : [])
      .filter(({ input }) => !made.includes(input))
      .map((gradient) => ({ block: explained.block, gradient }));
  });
  const add = (offer: (typeof offers)[number]) => {
    const adding = addGradient(graph, offer.block, offer.gradient);
    act(adding);
    const blocks = picture.rows.map((row) => row.explained.block);
    const [made] = adding.added.map((each) => each.slice(each.indexOf("/") + 1));
    studio.run(picture.page, { to: [...blocks, ...(made === undefined ? [] : [made])] });
  };
  return (
    <div className="explain-missing">
      {offers.map((offer) => (
        <button
          type="button"
          className="button"
          key={`${offer.block} ${offer.gradient.input}`}
          onClick={() => add(offer)}
        >
          <Icon name="gradient" />
          {w.addGradient(offer.block, offer.gradient.input)}
        </button>
      ))}
      {here.length === 0 && offers.length === 0 && (
        <p className="soft small">
          {w.noGradient([...new Set(above.map(({ row }) => row.explained.op))].join(", "))}
        </p>
      )}
    </div>
  );
}
