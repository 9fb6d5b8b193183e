import {
  type ReactElement,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import {
  canShareRange,
  colourRange,
  commonRange,
  hiddenIn,
  type Range,
  type RangeMode,
} from "../../model/colour-index.ts";
import { pinsOf } from "../../model/tensors.ts";
import { cursor } from "../../state/cursor.ts";
import type { PageState } from "../../state/store.ts";
import { updateSettings, useSettings } from "../settings.ts";
import { Icon } from "../shell/icons.tsx";
import { useInspectorStrings } from "../strings.ts";
import type { ColourSettings } from "./ColourRange.tsx";
import { abbreviate } from "./heatmap-painter.ts";
import { Pane, type PaneCursor } from "./Pane.tsx";
import { MAX_PANES, type PageOutput, panes, usePanes } from "./panes.ts";
import { formatIndex } from "./Table.tsx";
import { type TensorStatistics, useTensor } from "./useTensor.ts";

/** What panes share: the cursor, and maybe the colour range. */
interface PaneContext {
  readonly page: PageState;
  at(pin: string, shape: readonly number[] | undefined): PaneCursor;
  coloursOf(pane: string, statistics: TensorStatistics | null): ColourSettings;
  reportStatistics(pane: string, statistics: TensorStatistics | null): void;
}

const OF_ALL = "all panes";
const onCursor = (call: () => void) => cursor.onChange(call);

/** The inspector: up to four panes with the selected tensor, pinned ones, and the comparison of A and B. */
export function Inspector({ page }: { page: PageState }): ReactElement {
  const t = useInspectorStrings();
  const { pinned, following, a, b, locked, ranges: choices, chosen } = usePanes();
  const now = useSyncExternalStore(onCursor, () => cursor.current);
  const held = useSyncExternalStore(onCursor, () => cursor.pinned);
  const [known, setKnown] = useState<Readonly<Record<string, TensorStatistics>>>({});
  // A cell that was pinned in Explain is shown, if the selection has its tensor.
  const opened = useRef(page);
  useLayoutEffect(() => {
    const { page: number, selection } = opened.current;
    if (cursor.pinned && cursor.current?.page === number) panes.choose(cursor.current.pin, selection);
  }, []);
  const here = pinned.filter((each) => each.page === page.page && exists(page, each));
  const offered = pinsOf(page.graph, page.selection);
  const followed = chosen?.of === page.selection && offered.includes(chosen.pin) ? chosen.pin : offered[0];
  const comparing =
    a !== null && b !== null && [a, b].every((each) => each.page === page.page && exists(page, each));
  const room = MAX_PANES - here.length - (comparing ? 1 : 0);
  const follows = followed !== undefined && !here.some((each) => each.pin === followed);
  const shown = [...here.map((each) => each.pin), ...(follows && room > 0 ? [followed] : [])];

  // The pane of the selection is scrolled into view.
  const list = useRef<HTMLDivElement>(null);
  const place = followed === undefined ? -1 : shown.indexOf(followed);
  useEffect(() => {
    if (followed !== undefined)
      list.current?.children[place]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [followed, place]);

  const reportStatistics = useCallback((pane: string, statistics: TensorStatistics | null) => {
    setKnown(({ [pane]: _, ...others }) => (statistics ? { ...others, [pane]: statistics } : others));
  }, []);
  const measured = shown.filter((each) => known[each]);
  const ranges = measured.map((each) => colourRange(known[each] as TensorStatistics));
  const same = shown.length > 1 && (locked ?? canShareRange(ranges));
  const shared: PaneContext = {
    page,
    at(pin, shape) {
      const linked =
        now?.page === page.page && (now.pin === pin || String(known[now.pin]?.shape) === String(shape));
      const inside =
        linked &&
        now.cell.length === shape?.length &&
        now.cell.every((place, axis) => place < (shape[axis] as number));
      return { cell: inside ? now.cell : null, pinned: inside && held };
    },
    coloursOf(pane, statistics) {
      const compared = pane === COMPARED;
      const common = same && !compared;
      const key = `${page.page} ${common ? OF_ALL : pane}`;
      const { mode, typed } = choices[key] ?? { mode: "all" };
      const all = common ? shown.flatMap((each) => known[each] ?? []) : statistics ? [statistics] : [];
      const range = typed ?? commonRange(all.map((each) => colourRange(each, mode as RangeMode)));
      return {
        mode,
        range: compared && !typed ? symmetricAroundZero(range) : range,
        sharing:
          compared || shown.length < 2
            ? null
            : {
                same,
                many: shown.length,
                chosen: locked !== null,
                hidden: hiddenIn(ranges).map((each) => measured[each] as string),
              },
        choose: (next) => panes.setRange(key, { mode: next }),
        set: (next) => panes.setRange(key, { mode: "typed", typed: next }),
      };
    },
    reportStatistics,
  };
  if (shown.length === 0 && !comparing) return <p className="empty">{t.nothingSelected}</p>;
  return (
    <div ref={list} className="panes">
      {[...here, ...(follows && room > 0 ? [{ pin: followed, pane: following }] : [])].map(
        ({ pin, pane }) => (
          <TensorPane
            key={pane}
            pane={pane}
            shared={shared}
            pin={pin}
            pinned={pane !== following}
            isSelected={pin === followed}
            canPin={pane !== following || room > 1 || here.length === 0}
            {...(pane === following && {
              offered,
              onChoose: (next: string) => panes.choose(next, page.selection),
            })}
          />
        ),
      )}
      {comparing && <ComparedPane shared={shared} a={a} b={b} />}
    </div>
  );
}

function exists(page: PageState, { pin }: PageOutput): boolean {
  return page.graph.blocks.has(pin.slice(0, pin.indexOf(":")));
}

/** The button that docks the inspector elsewhere. */
export function InspectorTools(): ReactElement {
  const t = useInspectorStrings();
  const dock = useSettings((settings) => settings.inspectorDock);
  const other = dock === "bottom" ? "right" : "bottom";
  function move() {
    const { right } = useSettings.getState();
    updateSettings(
      other === "right"
        ? {
            inspectorDock: other,
            rightOpen: true,
            rightTab: "inspector",
            right: Math.max(MIN_RIGHT_WIDTH, right),
          }
        : { inspectorDock: other, bottomOpen: true, bottomTab: "inspector", rightTab: "properties" },
    );
  }
  return (
    <button
      type="button"
      className="button icon plain"
      aria-label={t.dock[other]}
      title={t.dock[other]}
      onClick={move}
    >
      <Icon name={other === "right" ? "dockRight" : "dockBelow"} />
    </button>
  );
}

/** The least width of the inspector at the right. */
const MIN_RIGHT_WIDTH = 480;

interface TensorPaneProps {
  shared: PaneContext;
  pane: number;
  pin: string;
  pinned: boolean;
  isSelected: boolean;
  canPin: boolean;
  /** The tensors of the selection. */
  offered?: readonly string[];
  onChoose?(pin: string): void;
}

function TensorPane(props: TensorPaneProps): ReactElement {
  const { shared, pin, pinned, canPin, offered, onChoose } = props;
  const t = useInspectorStrings();
  const { page, reportStatistics } = shared;
  const { a, b } = usePanes();
  const inspected = useTensor(page, pin);
  const which = { page: page.page, pin };
  useEffect(() => {
    reportStatistics(pin, inspected.statistics);
    return () => reportStatistics(pin, null);
  }, [reportStatistics, pin, inspected.statistics]);
  const side = (name: "a" | "b", now: PageOutput | null) => (
    <button
      type="button"
      className="button side"
      aria-pressed={now?.page === page.page && now.pin === pin}
      aria-label={t.compareAs[name]}
      title={t.compareAs[name]}
      onClick={() => panes.toggleSide(name, which)}
    >
      {name.toUpperCase()}
    </button>
  );
  return (
    <Pane
      page={page}
      pin={pin}
      pane={props.pane}
      inspected={inspected}
      at={shared.at(pin, inspected.info?.shape)}
      colours={shared.coloursOf(pin, inspected.statistics)}
      title={
        offered && onChoose && offered.length > 1 ? (
          <select
            className="field pane-choice mono"
            aria-label={t.tensor}
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
            aria-label={pinned ? t.unpin : t.pin}
            title={pinned ? t.unpin : t.pin}
            disabled={!pinned && !canPin}
            onClick={() => panes.togglePin(which, props.isSelected)}
          >
            <Icon name="pin" />
          </button>
        </>
      }
    />
  );
}

/** The range of differences, always symmetric around 0. */
function symmetricAroundZero({ low, high }: Range): Range {
  const most = Math.max(Math.abs(low), Math.abs(high));
  return { low: -most, high: most };
}

const COMPARED = "A against B";
const COMPARISONS = ["difference", "relative", "ulp"] as const;

function ComparedPane({ shared, a, b }: { shared: PaneContext; a: PageOutput; b: PageOutput }): ReactElement {
  const t = useInspectorStrings();
  const comparison = usePanes((state) => state.comparison);
  const inspected = useTensor(shared.page, a.pin, { against: b.pin, comparison });
  const { mismatches, worst = [] } = inspected.statistics ?? {};
  return (
    <Pane
      page={shared.page}
      pin={a.pin}
      pane={COMPARED}
      label={`(${a.pin} − ${b.pin})`}
      compares
      inspected={inspected}
      at={shared.at(a.pin, inspected.info?.shape)}
      colours={shared.coloursOf(COMPARED, inspected.statistics)}
      title={
        <>
          <strong className="mono pane-title">
            {a.pin} − {b.pin}
          </strong>
          <select
            className="field pane-choice"
            aria-label={t.compareBy}
            value={comparison}
            onChange={(event) => panes.compareBy(event.target.value as typeof comparison)}
          >
            {COMPARISONS.map((each) => (
              <option key={each} value={each}>
                {t.comparisons[each]}
              </option>
            ))}
          </select>
        </>
      }
      tools={
        <button
          type="button"
          className="button icon plain"
          aria-label={t.endComparison}
          title={t.endComparison}
          onClick={panes.endComparison}
        >
          <Icon name="close" />
        </button>
      }
      beside={
        <div className="worst">
          <p>{mismatches === undefined || mismatches === null ? "" : t.mismatches(mismatches)}</p>
          {worst.length > 0 && (
            <ol aria-label={t.worst}>
              {worst.map(({ cell, first, second, difference }) => (
                <li key={String(cell)}>
                  <button
                    type="button"
                    onClick={() => cursor.pin({ page: shared.page.page, pin: a.pin, cell })}
                  >
                    <span className="mono">{formatIndex(cell)}</span>
                    <span className="mono">
                      {first} | {second}
                    </span>
                    <span className="mono">{abbreviate(difference, 10)}</span>
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
