/** English: running, and the runs of a page. Other languages have the same keys, or the type check fails. */

import type { Translation } from "./translation.ts";

const number = new Intl.NumberFormat("en");
const moment = new Intl.DateTimeFormat("en", { timeStyle: "medium" });

function count(many: number, one: string, more: string): string {
  return `${number.format(many)} ${many === 1 ? one : more}`;
}

export const runsEn = {
  runs: "Runs",
  runLabels: {
    once: "Run once",
    steps: (steps: number) => `Run ${number.format(steps)} steps`,
    until: (output: string) => `Run until ${output}`,
  },
  blocksRan: (ran: number, of: number, problems: number) =>
    `${number.format(ran)} of ${count(of, "block", "blocks")} ran, ${count(problems, "problem", "problems")}`,
  none: "No runs yet. Run the page, and each run is listed here.",
  kept: "Runs are kept while the page is open; variables and snapshots until its process ends.",
  dropped: (many: number, most: number) =>
    `${count(many, "older run was", "older runs were")} dropped: at most ${number.format(most)} are kept, and those with a snapshot.`,
  snapshotCount: (many: number, most: number, bytes: string) =>
    `${number.format(many)} of ${count(most, "snapshot", "snapshots")}${many ? `, ${bytes}` : ""}`,
  run: "Run",
  runNumber: (run: number) => `Run ${number.format(run)}`,
  settings: "Settings",
  modes: {
    once: "once",
    steps: (steps: number) => count(steps, "step", "steps"),
    until: (output: string) => `until ${output}`,
    free: "continuously",
  },
  to: (names: string) => `to ${names}`,
  seed: (seed: number) => `seed ${seed}`,
  automatic: "after a change",
  edited: "edited meanwhile",
  started: "Started",
  time: (date: Date) => moment.format(date),
  duration: "Time",
  end: "Result",
  ends: { "": "running", done: "done", incomplete: "incomplete", failed: "failed", stopped: "cancelled" },
  stepsDone: "Steps",
  fromTo: (first: number, last: number) => `${number.format(first)} to ${number.format(last)}`,
  lastValue: "Last value",
  memory: "Memory",
  inTrends: "In trends",
  showInTrends: (run: number) => `Show the curves of run ${run} in trends`,
  compareAs: { a: (run: number) => `Compare run ${run} as A`, b: (run: number) => `Compare run ${run} as B` },
  snapshot: "Snapshot",
  snapshotAt: (step: number, bytes: string) => `step ${number.format(step)}, ${bytes}`,
  restore: "Restore",
  restoreRun: (run: number) => `Restore the variables of run ${run}`,
  deleteSnapshot: (run: number) => `Delete the snapshot of run ${run}`,
  blocksOf: (run: number) => `Blocks of run ${run}`,
  timedIn: (steps: number) =>
    `Mean of ${count(steps, "step", "steps")} that ${steps === 1 ? "was" : "were"} timed.`,
  costs: { block: "Block", seconds: "Time a step", bytes: "Memory" },
  share: "Share",
  flame: (name: string, time: string, share: string) => `${name}: ${time}, ${share}`,
  moreBlocks: (many: number) => `and ${number.format(many)} more`,
  noBlocks: "Nothing is known about its blocks.",
  compared: (a: number, b: number) => `Run ${a} and run ${b}`,
  endComparison: "End the comparison",
  changes: "Changes of the page",
  noChanges: "The page is the same.",
  curves: "Curves",
  noCurves: "No trend has curves of both.",
  weights: "Variables",
  compareVariable: (pin: string) => `Compare ${pin} in the inspector`,
  noWeights: (runs: string) => `Without a snapshot: ${runs}. Take one after a run to compare its variables.`,
  noVariables: "The page has no variables.",
};

export type RunsStrings = Translation<typeof runsEn>;
