import { type ReactElement, useEffect, useId, useState } from "react";
import { item } from "../../model/action.ts";
import { type CostKey, flameParts, sortCosts } from "../../model/runs.ts";
import type { BlockCost, RunRecord } from "../../net/generated.ts";
import { type PageState, studio } from "../../state/store.ts";
import type { RunsStrings } from "../../text/runs.en.ts";
import { formatNumber } from "../canvas/monitor-labels.ts";
import { formatBytes, formatDuration } from "../canvas/thumbnails.ts";
import { panes } from "../inspector/panes.ts";
import { Trend } from "../lazy.tsx";
import { Icon } from "../shell/icons.tsx";
import { CommandButton } from "../shell/TopBar.tsx";
import { useRunsStrings } from "../strings.ts";
import { ui } from "../ui.ts";

/** Blocks that are listed. */
const MAX_ROWS = 300;

/** The runs of a page: their list, and the blocks of one or the comparison of two. */
export function Runs({ page }: { page: PageState }): ReactElement {
  const t = useRunsStrings();
  const { records, dropped, mostSnapshots } = page.runs;
  const { shown, a, b } = page.runsView;
  const find = (run: number | null) => records.find((each) => each.run === run);
  const [first, second] = [find(a), find(b)];
  const one = find(shown) ?? records.at(-1);
  const kept = records.flatMap(({ snapshot }) => snapshot ?? []);
  if (one === undefined) return <p className="empty">{t.none}</p>;
  const bytes = formatBytes(kept.reduce((sum, each) => sum + each.bytes, 0));
  return (
    <div className="runs">
      <section className="runs-list" aria-label={t.runs}>
        <div className="runs-head">
          <CommandButton id="snapshot" icon="save" label={t.snapshot} />
          <span>{t.snapshotCount(kept.length, mostSnapshots, bytes)}</span>
          <span className="soft">
            {t.kept} {dropped > 0 && t.dropped(dropped, records.length)}
          </span>
        </div>
        <table className="runs-table">
          <thead>
            <tr>
              <th>A, B</th>
              <th>{t.run}</th>
              <th>{t.settings}</th>
              <th>{t.end}</th>
              <th>{t.duration}</th>
              <th>{t.lastValue}</th>
              <th>{t.snapshot}</th>
              <th>{t.inTrends}</th>
              <th>{t.started}</th>
            </tr>
          </thead>
          <tbody>
            {records.toReversed().map((record) => (
              <RunRow key={record.run} page={page} record={record} current={record === one} />
            ))}
          </tbody>
        </table>
      </section>
      {first && second ? (
        <Comparison key={`${a} ${b}`} page={page} a={first} b={second} />
      ) : (
        <Blocks record={one} />
      )}
    </div>
  );
}

function RunRow(props: { page: PageState; record: RunRecord; current: boolean }): ReactElement {
  const t = useRunsStrings();
  const { page, record, current } = props;
  const { run, snapshot } = record;
  const { hidden, ...view } = page.runsView;
  const number = page.page;
  const side = (name: "a" | "b") => (
    <button
      type="button"
      className="button side"
      aria-pressed={view[name] === run}
      aria-label={t.compareAs[name](run)}
      title={t.compareAs[name](run)}
      onClick={() => {
        const other = name === "a" ? "b" : "a";
        studio.viewRuns(number, {
          [name]: view[name] === run ? null : run,
          ...(view[other] === run && { [other]: null }),
        });
      }}
    >
      {name.toUpperCase()}
    </button>
  );
  const drawn = Object.values(record.curves ?? {}).some(({ steps = [] }) => steps.length > 1);
  return (
    <tr className={current ? "current" : ""} data-run={run}>
      <td>
        <span className="group">
          {side("a")}
          {side("b")}
        </span>
      </td>
      <td>
        <button
          type="button"
          className="link"
          aria-current={current}
          aria-label={t.blocksOf(run)}
          title={t.blocksOf(run)}
          onClick={() => studio.viewRuns(number, { shown: run, a: null, b: null })}
        >
          {run}
        </button>
      </td>
      <td>{settingsText(record, t)}</td>
      <td className={record.end === "failed" || record.end === "incomplete" ? "bad" : ""}>
        {endText(record, t)}
      </td>
      <td className="mono">{record.end ? formatDuration(record.seconds ?? 0) : ""}</td>
      <td className="mono">{lastValue(record)}</td>
      <td>
        {snapshot && (
          <span className="run-snapshot">
            <button
              type="button"
              className="button"
              aria-label={t.restoreRun(run)}
              title={`${t.restoreRun(run)} (${t.snapshotAt(snapshot.step, formatBytes(snapshot.bytes))})`}
              disabled={page.run.state !== "idle"}
              onClick={() => studio.changeSnapshot(number, "restore", run)}
            >
              {t.restore}
            </button>
            <button
              type="button"
              className="button icon plain"
              aria-label={t.deleteSnapshot(run)}
              title={t.deleteSnapshot(run)}
              onClick={() => studio.changeSnapshot(number, "delete", run)}
            >
              <Icon name="trash" />
            </button>
          </span>
        )}
      </td>
      <td>
        {drawn && (
          <input
            type="checkbox"
            aria-label={t.showInTrends(run)}
            title={t.showInTrends(run)}
            checked={!hidden.has(run)}
            onChange={(event) => {
              const others = [...hidden].filter((each) => each !== run);
              studio.viewRuns(number, { hidden: new Set(event.target.checked ? others : [...others, run]) });
            }}
          />
        )}
      </td>
      <td className="mono">{t.time(new Date(record.started * 1000))}</td>
    </tr>
  );
}

function settingsText({ mode, steps, until, to = [], ...more }: RunRecord, t: RunsStrings): string {
  const how =
    mode === "steps"
      ? t.modes.steps(steps ?? 1)
      : mode === "until"
        ? t.modes.until(until ?? "")
        : t.modes[mode];
  return [
    how,
    to.length > 0 ? t.to(to.join(", ")) : "",
    more.seed === undefined || more.seed === null ? "" : t.seed(more.seed),
    more.automatic ? t.automatic : "",
    more.edited ? t.edited : "",
  ]
    .filter((part) => part !== "")
    .join(", ");
}

function endText({ end, ran = 0, of = 0, problems = 0 }: RunRecord, t: RunsStrings): string {
  return (end === "incomplete" || end === "failed") && of > 0
    ? t.blocksRan(ran, of, problems)
    : t.ends[end ?? ""];
}

function lastValue({ curves }: RunRecord): string {
  const [first] = Object.values(curves ?? {});
  return first ? formatNumber(first.values?.[0]?.at(-1)) : "";
}

/** The time and memory of each block of a run, with its flame bar. */
function Blocks({ record }: { record: RunRecord }): ReactElement {
  const t = useRunsStrings();
  const label = useId();
  const [by, setBy] = useState<{ key: CostKey; reverse: boolean }>({ key: "seconds", reverse: false });
  const costs = record.blocks ?? [];
  const total = costs.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0);
  const rows = sortCosts(costs, by.key, by.reverse);
  const largest = Math.max(...costs.map(({ seconds }) => seconds ?? 0));
  return (
    <section className="run-blocks" aria-labelledby={label}>
      <h3 id={label}>{t.blocksOf(record.run)}</h3>
      {costs.length === 0 ? (
        <p className="soft">{t.noBlocks}</p>
      ) : (
        <>
          <p className="soft small">{t.timedIn(record.timed_steps ?? 1)}</p>
          <Flame costs={costs} total={total} />
          <table className="runs-table">
            <thead>
              <tr>
                {(["block", "seconds", "bytes"] as const).map((key) => (
                  <th
                    key={key}
                    aria-sort={
                      by.key === key
                        ? (key === "block") === by.reverse
                          ? "descending"
                          : "ascending"
                        : "none"
                    }
                  >
                    <button
                      type="button"
                      onClick={() => setBy({ key, reverse: by.key === key && !by.reverse })}
                    >
                      {t.costs[key]}
                      {by.key === key && <Icon name={(key === "block") === by.reverse ? "down" : "up"} />}
                    </button>
                  </th>
                ))}
                <th>{t.share}</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, MAX_ROWS).map(({ block, seconds = 0, bytes = 0 }) => (
                <tr key={block}>
                  <td>
                    <button
                      type="button"
                      className="link mono"
                      onClick={() => ui.reveal(item("block", block))}
                    >
                      {block}
                    </button>
                  </td>
                  <td className="mono">{formatDuration(seconds)}</td>
                  <td className="mono">{formatBytes(bytes)}</td>
                  <td className="mono">
                    <span className="share-bar">
                      <span style={{ width: `${largest > 0 ? (100 * seconds) / largest : 0}%` }} />
                    </span>
                    {percent(seconds, total)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {rows.length > MAX_ROWS && <p className="soft">{t.moreBlocks(rows.length - MAX_ROWS)}</p>}
        </>
      )}
    </section>
  );
}

/** Blocks side by side, each as wide as its part of the time; the table says the same to who cannot see it. */
function Flame({ costs, total }: { costs: readonly BlockCost[]; total: number }): ReactElement {
  const t = useRunsStrings();
  const parts = flameParts(costs);
  const depth = Math.max(0, ...parts.map((part) => part.depth));
  return (
    <div className="flame" aria-hidden="true" style={{ height: `${(depth + 1) * 22}px` }}>
      {parts.map(({ name, depth, left, width, seconds, isBlock }) => (
        <button
          key={`${depth} ${name}`}
          type="button"
          tabIndex={-1}
          className={isBlock ? "flame-part" : "flame-part scope"}
          style={{ left: `${100 * left}%`, width: `${100 * width}%`, top: `${depth * 22}px` }}
          title={t.flame(name, formatDuration(seconds), percent(seconds, total))}
          onClick={() => isBlock && ui.reveal(item("block", name))}
        >
          {name.slice(name.lastIndexOf("/") + 1)}
        </button>
      ))}
    </div>
  );
}

function percent(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–";
}

/** Two runs: their settings, what changed on the page between, their curves and variables. */
function Comparison({ page, a, b }: { page: PageState; a: RunRecord; b: RunRecord }): ReactElement {
  const t = useRunsStrings();
  const label = useId();
  const rows: [name: string, of: (record: RunRecord) => string][] = [
    [t.settings, (record) => settingsText(record, t)],
    [t.end, (record) => endText(record, t)],
    [t.stepsDone, ({ first_step = 0, step = 0 }) => t.fromTo(first_step + 1, step)],
    [t.duration, ({ seconds = 0 }) => formatDuration(seconds)],
    [t.memory, ({ peak_bytes = 0 }) => formatBytes(peak_bytes)],
    [t.lastValue, lastValue],
  ];
  const monitors = Object.entries(page.document.monitors ?? {}).flatMap(([name, monitor]) => {
    const [one, other] = [a.curves?.[name], b.curves?.[name]];
    return one && other ? [{ name, monitor, one, other }] : [];
  });
  return (
    <section className="run-blocks" aria-labelledby={label}>
      <div className="runs-head">
        <h3 id={label}>{t.compared(a.run, b.run)}</h3>
        <button
          type="button"
          className="button icon plain"
          aria-label={t.endComparison}
          title={t.endComparison}
          onClick={() => studio.viewRuns(page.page, { a: null, b: null })}
        >
          <Icon name="close" />
        </button>
      </div>
      <table className="runs-table">
        <thead>
          <tr>
            <td />
            <th>A: {t.runNumber(a.run)}</th>
            <th>B: {t.runNumber(b.run)}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, of]) => (
            <tr key={name} className={of(a) === of(b) ? "" : "differs"}>
              <th scope="row">{name}</th>
              <td className="mono">{of(a)}</td>
              <td className="mono">{of(b)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Changes page={page.page} a={a.run} b={b.run} />
      <h4>{t.weights}</h4>
      <Variables page={page} a={a} b={b} />
      <h4>{t.curves}</h4>
      {monitors.length === 0 && <p className="soft">{t.noCurves}</p>}
      {monitors.map(({ name, monitor, one, other }) => (
        <div key={name} className="run-curves">
          <Trend monitor={monitor} series={one} run={a.run} earlier={[{ run: b.run, series: other }]} />
        </div>
      ))}
    </section>
  );
}

/** What changed on the page between two runs. */
function Changes({ page, a, b }: { page: number; a: number; b: number }): ReactElement {
  const t = useRunsStrings();
  const [changes, setChanges] = useState<readonly string[] | null>(null);
  useEffect(() => {
    studio.requests.comparedRuns(page, a, b).then(setChanges, (error: Error) => setChanges([error.message]));
  }, [page, a, b]);
  return (
    <>
      <h4>{t.changes}</h4>
      {changes?.length === 0 && <p className="soft">{t.noChanges}</p>}
      <ul className="run-changes mono">
        {changes?.map((change) => (
          <li key={change}>{change}</li>
        ))}
      </ul>
    </>
  );
}

/** The variables that both snapshots have, to compare in the inspector. */
function Variables({ page, a, b }: { page: PageState; a: RunRecord; b: RunRecord }): ReactElement {
  const t = useRunsStrings();
  const without = [a, b].filter(({ snapshot }) => !snapshot);
  if (without.length > 0)
    return <p className="soft">{t.noWeights(without.map(({ run }) => t.runNumber(run)).join(", "))}</p>;
  const pins = (a.snapshot?.pins ?? []).filter((pin) => b.snapshot?.pins?.includes(pin));
  if (pins.length === 0) return <p className="soft">{t.noVariables}</p>;
  return (
    <p className="run-variables">
      {pins.map((pin) => (
        <button
          key={pin}
          type="button"
          className="button mono"
          title={t.compareVariable(pin)}
          onClick={() => {
            panes.compare(page.page, `${pin}@${a.run}`, `${pin}@${b.run}`);
            ui.run("inspector");
          }}
        >
          {pin}
        </button>
      ))}
    </p>
  );
}
