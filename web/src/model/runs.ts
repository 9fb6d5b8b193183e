/** The runs of a page: what the run button does, the list of runs, their curves, and what their blocks took. */

import type { BlockCost, Run, RunRecord, Runs, Series } from "../net/generated.ts";
import type { PageDocument } from "./document.ts";

/** The runs of a page that the server keeps, the oldest first. */
export interface RunList {
  readonly records: readonly RunRecord[];
  /** How many older ones were dropped. */
  readonly dropped: number;
  readonly mostSnapshots: number;
}

/** What is looked at of the runs. */
export interface RunsView {
  /** The run whose blocks are listed; the last one if it is null. */
  readonly shown: number | null;
  /** The runs that are compared. */
  readonly a: number | null;
  readonly b: number | null;
  /** Runs whose curves are not overlaid. */
  readonly hidden: ReadonlySet<number>;
}

export const NO_RUNS: RunList = { records: [], dropped: 0, mostSnapshots: 0 };
export const NO_RUNS_VIEW: RunsView = { shown: null, a: null, b: null, hidden: new Set() };

export function mergeRuns({ records }: RunList, message: Runs): RunList {
  const known = new Map([...records, ...(message.changed ?? [])].map((each) => [each.run, each]));
  return {
    records: message.kept.flatMap((run) => known.get(run) ?? []),
    dropped: message.dropped ?? 0,
    mostSnapshots: message.most_snapshots ?? 0,
  };
}

/** What the run button does, by the run settings of the page. */
export function mainRun({ run }: PageDocument): Pick<Run, "mode" | "steps"> {
  const { steps, until } = run ?? {};
  if (until) return { mode: "until", steps: steps ?? 1 };
  return (steps ?? 1) > 1 ? { mode: "steps", steps: steps as number } : { mode: "once" };
}

/** The curves of a run in a monitor. */
export interface RunCurves {
  readonly run: number;
  readonly series: Series;
}

/** The curves of earlier runs that a trend overlays: not those that its own curves continue. */
export function earlierCurves(
  { records }: RunList,
  hidden: ReadonlySet<number>,
  monitor: string,
  own: Series | undefined,
): RunCurves[] {
  const lineage = own?.steps?.length ? records.at(-1)?.lineage : undefined;
  return records.flatMap((record) => {
    const series = record.curves?.[monitor];
    const drawn = (series?.steps?.length ?? 0) > 1 && !hidden.has(record.run) && record.lineage !== lineage;
    return series && drawn ? [{ run: record.run, series }] : [];
  });
}

export type CostKey = "block" | "seconds" | "bytes";

/** Sorts blocks by name or, the largest first, by time or memory. */
export function sortCosts(costs: readonly BlockCost[], key: CostKey, reverse: boolean): BlockCost[] {
  const order = (a: BlockCost, b: BlockCost) =>
    key === "block" ? a.block.localeCompare(b.block) : (b[key] ?? 0) - (a[key] ?? 0);
  return costs.toSorted((a, b) => (reverse ? order(b, a) : order(a, b)));
}

/** A part of the flame bar: a block, or a scope with all that is in it. Places are parts of the whole. */
export interface FlamePart {
  readonly name: string;
  readonly depth: number;
  readonly left: number;
  readonly width: number;
  readonly seconds: number;
  readonly isBlock: boolean;
}

/** The flame bar of a run: blocks in their order, below the scopes that their names tell. */
export function flameParts(costs: readonly BlockCost[]): FlamePart[] {
  const total = costs.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0);
  const parts: FlamePart[] = [];
  const add = (inside: readonly BlockCost[], depth: number, from: number): void => {
    let left = from;
    for (const [name, group] of byScope(inside, depth)) {
      const seconds = group.reduce((sum, each) => sum + (each.seconds ?? 0), 0);
      const width = seconds / total;
      const isBlock = group.length === 1 && group[0]?.block === name;
      parts.push({ name, depth, left, width, seconds, isBlock });
      if (!isBlock) add(group, depth + 1, left);
      left += width;
    }
  };
  if (total > 0)
    add(
      costs.filter(({ seconds }) => seconds),
      0,
      0,
    );
  return parts;
}

/** Blocks by the first parts of their names, in the order in which these first come. */
function byScope(costs: readonly BlockCost[], depth: number): Map<string, BlockCost[]> {
  const groups = new Map<string, BlockCost[]>();
  for (const cost of costs) {
    const name = cost.block
      .split("/")
      .slice(0, depth + 1)
      .join("/");
    groups.set(name, [...(groups.get(name) ?? []), cost]);
  }
  return groups;
}
