import { type ReactElement, useCallback, useEffect, useRef, useState } from "react";
import { commonRange, type Range, type RangeMode, rangeOf } from "../../model/shades.ts";
import { pinsOf } from "../../model/tensors.ts";
import type { PageState } from "../../state/store.ts";
import { change, useSettings } from "../settings.ts";
import { Icon } from "../shell/icons.tsx";
import { type Cursor, Pane } from "./Pane.tsx";
import { shortened } from "./paint.ts";
import { MOST_PANES, type PinOn, panes, usePanes } from "./panes.ts";
import { nameOf } from "./Table.tsx";
import { type Measures, useTensor } from "./tensor.ts";
import { useInspectorWords } from "./words.ts";

interface RangeChoice {
  readonly mode: RangeMode | "typed";
  readonly typed?: Range;
}

/** What all panes share: one cursor, and one range of colours where that is locked. */
interface Shared {
  readonly page: PageState;
  readonly cursor: Cursor | null;
  readonly picked: Cursor | null;
  readonly locked: boolean;
  rangeFor(pane: string, measures: Measures | null): { range: Range; mode: RangeChoice["mode"] };
  choose(pane: string, choice: RangeChoice): void;
  measured(pane: string, measures: Measures | null): void;
  hover(cursor: Cursor | null): void;
  pick(cursor: Cursor | null): void;
}

const OF_ALL = "all panes";

/** Up to four tensors side by side: the one of the selection, those that were pinned, and A against B. */
export function Inspector({ page }: { page: PageState }): ReactElement {
  const w = useInspectorWords();
  const { pinned, a, b, locked } = usePanes();
  const [hovered, setHovered] = useState<Cursor | null>(null);
  const [picked, setPicked] = useState<Cursor | null>(null);
  const [choices, setChoices] = useState<Readonly<Record<string, RangeChoice>>>({});
  const [known, setKnown] = useState<Readonly<Record<string, Measures>>>({});
  const [chosen, setChosen] = useState<string | null>(null);
  const here = pinned.filter((each) => each.page === page.page && exists(page, each));
  const offered = pinsOf(page.graph, page.selection);
  const followed = chosen !== null && offered.includes(chosen) ? chosen : offered[0];
  const comparing =
    a !== null && b !== null && [a, b].every((each) => each.page === page.page && exists(page, each));
  const room = MOST_PANES - here.length - (comparing ? 1 : 0);
  const follows = followed !== undefined && !here.some((each) => each.pin === followed);
  const shown = [...here.map((each) => each.pin), ...(follows && room > 0 ? [followed] : [])];

  // Of four panes not all may be in sight: the one of the selection has to be.
  const list = useRef<HTMLDivElement>(null);
  const place = followed === undefined ? -1 : shown.indexOf(followed);
  useEffect(() => {
    if (followed !== undefined)
      list.current?.children[place]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [followed, place]);

  const measured = useCallback((pane: string, measures: Measures | null) => {
    setKnown(({ [pane]: _, ...others }) => (measures ? { ...others, [pane]: measures } : others));
  }, []);
  const shared: Shared = {
    page,
    cursor: hovered ?? picked,
    picked,
    locked: locked && shown.length > 1,
    rangeFor(pane, measures) {
      const common = shared.locked && pane !== COMPARED;
      const { mode, typed } = choices[common ? OF_ALL : pane] ?? { mode: "all" };
      if (mode === "typed") return { mode, range: typed as Range };
      const all = common ? shown.flatMap((each) => known[each] ?? []) : measures ? [measures] : [];
      const range = commonRange(all.map((each) => rangeOf(each, mode)));
      return { mode, range: pane === COMPARED ? bothWays(range) : range };
    },
    choose(pane, choice) {
      setChoices({ ...choices, [shared.locked && pane !== COMPARED ? OF_ALL : pane]: choice });
    },
    measured,
    hover: setHovered,
    pick(cursor) {
      setPicked(cursor);
      setHovered(null);
    },
  };
  if (shown.length === 0 && !comparing) return <p className="empty">{w.selectSomething}</p>;
  return (
    <div ref={list} className="panes">
      {here.map(({ pin }) => (
        <TensorPane key={pin} shared={shared} pin={pin} pinned canPin />
      ))}
      {follows && room > 0 && (
        <TensorPane
          key="follows"
          shared={shared}
          pin={followed}
          pinned={false}
          canPin={room > 1 || here.length === 0}
          offered={offered}
          onChoose={setChosen}
        />
      )}
      {comparing && <ComparedPane shared={shared} a={a} b={b} />}
    </div>
  );
}

function exists(page: PageState, { pin }: PinOn): boolean {
  return page.graph.blocks.has(pin.slice(0, pin.indexOf(":")));
}

/** What is said of all panes: whether they have the same colours, and where they are docked. */
export function InspectorTools(): ReactElement {
  const w = useInspectorWords();
  const { locked, pinned } = usePanes();
  const dock = useSettings((settings) => settings.inspectorDock);
  const other = dock === "bottom" ? "right" : "bottom";
  function move() {
    const { right } = useSettings.getState();
    change(
      other === "right"
        ? { inspectorDock: other, rightOpen: true, rightTab: "inspector", right: Math.max(ROOM, right) }
        : { inspectorDock: other, bottomOpen: true, bottomTab: "inspector", rightTab: "properties" },
    );
  }
  return (
    <>
      {pinned.length > 0 && (
        <button
          type="button"
          className="button plain"
          aria-pressed={locked}
          title={w.lockHow}
          onClick={panes.toggleLock}
        >
          {w.lock}
        </button>
      )}
      <button
        type="button"
        className="button icon plain"
        aria-label={w.dock[other]}
        title={w.dock[other]}
        onClick={move}
      >
        <Icon name={other === "right" ? "dockRight" : "dockBelow"} />
      </button>
    </>
  );
}

/** The least width in which a tensor can be read at the right. */
const ROOM = 480;

interface TensorPaneProps {
  shared: Shared;
  pin: string;
  pinned: boolean;
  canPin: boolean;
  /** What the selection lets one choose from. */
  offered?: readonly string[];
  onChoose?(pin: string): void;
}

function TensorPane({ shared, pin, pinned, canPin, offered, onChoose }: TensorPaneProps): ReactElement {
  const w = useInspectorWords();
  const { page, measured } = shared;
  const { a, b } = usePanes();
  const looked = useTensor(page, pin);
  const which = { page: page.page, pin };
  useEffect(() => {
    measured(pin, looked.measures);
    return () => measured(pin, null);
  }, [measured, pin, looked.measures]);
  const side = (name: "a" | "b", now: PinOn | null) => (
    <button
      type="button"
      className="button side"
      aria-pressed={now?.page === page.page && now.pin === pin}
      aria-label={w.takeAs[name]}
      title={w.takeAs[name]}
      onClick={() => panes.toggleSide(name, which)}
    >
      {name.toUpperCase()}
    </button>
  );
  return (
    <Pane
      page={page}
      pin={pin}
      looked={looked}
      {...rangeProps(shared, pin, looked.measures)}
      title={
        offered && onChoose && offered.length > 1 ? (
          <select
            className="field pane-choice mono"
            aria-label={w.tensor}
            value={pin}
            onChange={(event) => onChoose(event.target.value)}
          >
            {offered.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        ) : (
          <strong className="mono pane-title">{pin}</strong>
        )
      }
      tools={
        <>
          <span className="group">
            {side("a", a)}
            {side("b", b)}
          </span>
          <button
            type="button"
            className="button icon plain"
            aria-pressed={pinned}
            aria-label={pinned ? w.unpin : w.pin}
            title={pinned ? w.unpin : w.pin}
            disabled={!pinned && !canPin}
            onClick={() => panes.togglePin(which)}
          >
            <Icon name="pin" />
          </button>
        </>
      }
    />
  );
}

/** Differences have two directions, also where all go in one. */
function bothWays({ low, high }: Range): Range {
  const most = Math.max(Math.abs(low), Math.abs(high));
  return { low: -most, high: most };
}

const COMPARED = "A against B";
const COMPARISONS = ["difference", "relative", "ulp"] as const;

function ComparedPane({ shared, a, b }: { shared: Shared; a: PinOn; b: PinOn }): ReactElement {
  const w = useInspectorWords();
  const comparison = usePanes((state) => state.comparison);
  const looked = useTensor(shared.page, a.pin, { against: b.pin, comparison });
  const shape = String(looked.info?.shape);
  const { mismatches, worst = [] } = looked.measures ?? {};
  return (
    <Pane
      page={shared.page}
      pin={a.pin}
      label={`(${a.pin} − ${b.pin})`}
      compares
      looked={looked}
      {...rangeProps(shared, COMPARED, looked.measures)}
      title={
        <>
          <strong className="mono pane-title">
            {a.pin} − {b.pin}
          </strong>
          <select
            className="field pane-choice"
            aria-label={w.compareBy}
            value={comparison}
            onChange={(event) => panes.compareBy(event.target.value as typeof comparison)}
          >
            {COMPARISONS.map((each) => (
              <option key={each} value={each}>
                {w.comparisons[each]}
              </option>
            ))}
          </select>
        </>
      }
      tools={
        <button
          type="button"
          className="button icon plain"
          aria-label={w.endComparison}
          title={w.endComparison}
          onClick={panes.endComparison}
        >
          <Icon name="close" />
        </button>
      }
      beside={
        <div className="worst">
          <p>{mismatches === undefined || mismatches === null ? "" : w.mismatches(mismatches)}</p>
          {worst.length > 0 && (
            <ol aria-label={w.worst}>
              {worst.map(({ cell, first, second, difference }) => (
                <li key={String(cell)}>
                  <button type="button" onClick={() => shared.pick({ cell, shape })}>
                    <span className="mono">{nameOf(cell)}</span>
                    <span className="mono">
                      {first} | {second}
                    </span>
                    <span className="mono">{shortened(difference, 10)}</span>
                  </button>
                </li>
              ))}
            </ol>
          )}
        </div>
      }
    />
  );
}

function rangeProps(shared: Shared, pane: string, measures: Measures | null) {
  return {
    ...shared.rangeFor(pane, measures),
    cursor: shared.cursor,
    picked: shared.picked,
    onMode: (mode: RangeMode) => shared.choose(pane, { mode }),
    onRange: (typed: Range) => shared.choose(pane, { mode: "typed", typed }),
    onCursor: shared.hover,
    onPick: shared.pick,
  };
}
