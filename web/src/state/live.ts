/**
 * Live state of a page, which changes many times a second during a run: block states, last values of outputs, monitors,
 * console lines. It is kept outside of React's state, and views subscribe to the parts that they show.
 */

import type { Viewport } from "../model/viewport.ts";
import type {
  BlockState,
  BlockStates,
  ConsoleOutput,
  LogLine,
  Monitored,
  Run,
  Series,
  Subscribe,
  Summaries,
  Summary,
} from "../net/generated.ts";

/** The outputs whose thumbnails are shown, and rows and columns of pictures. */
export type Watched = Pick<Subscribe, "pins" | "axes">;

export type Unsubscribe = () => void;

/** The most points of a trend that are kept. */
const MAX_POINTS = 100_000;
/** The most console lines that are kept. */
const MAX_LINES = 1000;

/** The summary of an output's last value, with the step and the revision of the page that it is from. */
export interface LastValue extends Summary {
  readonly revision: number;
  readonly step: number;
}

export class LivePage {
  /** Console lines of this run, a new array after each message. */
  consoleLines: readonly LogLine[] = [];
  /** The progress of the running block, from 0 to 1. */
  progress = 0;
  /** The last run that was asked for; undefined before the first. */
  lastRun: Run | undefined;
  /** The outputs whose thumbnails are on screen. */
  watched: Watched = { pins: [] };
  /** Pan and zoom of the canvas; undefined before the page was first shown. */
  viewport: Viewport | undefined;
  private readonly states = new Map<string, BlockState>();
  private readonly summaries = new Map<string, LastValue>();
  private readonly seriesOf = new Map<string, Series>();
  /** The last revision that affected a block. */
  private readonly changedIn = new Map<string, number>();
  /** The last revision of this tab that affected a block. */
  private readonly changedHereIn = new Map<string, number>();
  /** The revision in which this tab changed monitors since the last run. */
  private monitorsChangedIn = 0;
  private readonly listeners = new Map<string, Set<() => void>>();
  private readonly anyListeners = new Set<() => void>();

  blockState(block: string): BlockState | undefined {
    return this.states.get(block);
  }

  /** The last value of an output, by "block:pin". */
  summary(pin: string): LastValue | undefined {
    return this.summaries.get(pin);
  }

  series(monitor: string): Series | undefined {
    return this.seriesOf.get(monitor);
  }

  /** Whether an edit since the run may have changed the value of an output. */
  isStale(pin: string): boolean {
    const held = this.summaries.get(pin);
    return held !== undefined && held.revision < (this.changedIn.get(blockOf(pin)) ?? 0);
  }

  /** Notes that this tab changed monitors, which show nothing before the next run. */
  monitorsChanged(revision: number): void {
    this.monitorsChangedIn = revision;
  }

  /** Whether monitors, or anything that has a value, were changed in this tab, at the latest in this revision, since the last run. */
  changedHereSince(revision: number): boolean {
    if (this.monitorsChangedIn > 0 && this.monitorsChangedIn <= revision) return true;
    for (const [pin, held] of this.summaries) {
      const changed = this.changedHereIn.get(blockOf(pin)) ?? 0;
      if (held.revision < changed && changed <= revision) return true;
    }
    return false;
  }

  /** Subscribes to the state of a block and the values of its outputs. */
  onBlock(block: string, call: () => void): Unsubscribe {
    return this.subscribe(`block/${block}`, call);
  }

  onConsole(call: () => void): Unsubscribe {
    return this.subscribe("console", call);
  }

  onMonitor(monitor: string, call: () => void): Unsubscribe {
    return this.subscribe(`monitor/${monitor}`, call);
  }

  /** Subscribes to all changes, once a message. */
  onAny(call: () => void): Unsubscribe {
    this.anyListeners.add(call);
    return () => this.anyListeners.delete(call);
  }

  private subscribe(key: string, call: () => void): Unsubscribe {
    const liveByPage = this.listeners.get(key) ?? new Set();
    this.listeners.set(key, liveByPage.add(call));
    return () => {
      liveByPage.delete(call);
      if (!liveByPage.size) this.listeners.delete(key);
    };
  }

  private notify(keys: Iterable<string>): void {
    for (const key of keys) for (const call of this.listeners.get(key) ?? []) call();
    for (const call of this.anyListeners) call();
  }

  // -- messages of the server -----------------------------------------------------------------

  applyStates(message: BlockStates): void {
    this.progress = message.progress ?? 0;
    for (const state of message.blocks) this.states.set(state.block, state);
    this.notify(message.blocks.map((state) => `block/${state.block}`));
  }

  applyResults({ pins, revision, step }: Summaries): void {
    const blocks = new Set<string>();
    for (const [pin, summary] of Object.entries(pins)) {
      this.summaries.set(pin, { ...summary, revision, step });
      blocks.add(`block/${blockOf(pin)}`);
    }
    this.notify(blocks);
  }

  applyMonitored({ monitors, fresh }: Monitored): void {
    if (fresh) this.seriesOf.clear();
    for (const [name, series] of Object.entries(monitors))
      this.seriesOf.set(name, appended(this.seriesOf.get(name), series));
    this.notify(Object.keys(monitors).map((name) => `monitor/${name}`));
  }

  applyConsole({ lines: texts }: ConsoleOutput): void {
    const lines = texts.map(({ block, text }) => ({ block, text: text.replace(/\n$/, "") }));
    this.consoleLines = [...this.consoleLines, ...lines].slice(-MAX_LINES);
    this.notify(["console", ...new Set(texts.map(({ block }) => `block/${block}`))]);
  }

  /** Marks blocks as affected by an edit, of this tab or another. */
  changed(blocks: Iterable<string>, revision: number, here: boolean): void {
    const keys: string[] = [];
    for (const block of blocks) {
      this.changedIn.set(block, revision);
      if (here) this.changedHereIn.set(block, revision);
      keys.push(`block/${block}`);
    }
    if (keys.length) this.notify(keys);
  }

  /** Clears block states and console of the run before. */
  startRun(run: Run): void {
    this.lastRun = run;
    this.monitorsChangedIn = 0;
    const keys = [...this.states.keys()].map((block) => `block/${block}`);
    this.states.clear();
    this.progress = 0;
    this.consoleLines = [];
    this.notify(["console", ...keys]);
  }

  clear(): void {
    const keys = [...this.listeners.keys()];
    for (const each of [this.states, this.summaries, this.seriesOf, this.changedIn, this.changedHereIn])
      each.clear();
    this.notify(keys);
  }
}

function blockOf(pin: string): string {
  const colon = pin.indexOf(":");
  return colon < 0 ? pin : pin.slice(0, colon);
}

/** Appends points to a trend in place; other series replace the last one. */
function appended(before: Series | undefined, series: Series): Series {
  const { steps, values } = series;
  if (!steps?.length || !before?.steps?.length || before.values?.length !== values?.length) return series;
  if ((steps[0] as number) <= (before.steps.at(-1) as number)) return series;
  append(before.steps as number[], steps);
  for (const [place, list] of (before.values ?? []).entries())
    append(list as (number | null)[], values?.[place] ?? []);
  return { ...series, steps: before.steps, ...(before.values && { values: before.values }) };
}

function append<T>(list: T[], more: readonly T[]): void {
  for (const each of more) list.push(each);
  // Trimmed rarely and many at once, since each time moves the whole array.
  if (list.length > MAX_POINTS * 1.1) list.splice(0, list.length - MAX_POINTS);
}

const livePages = new Map<number, LivePage>();

/** The live state of a page. */
export function live(page: number): LivePage {
  const found = livePages.get(page) ?? new LivePage();
  livePages.set(page, found);
  return found;
}

export function forgetLive(page: number): void {
  livePages.delete(page);
}

/** Moves the live state to another page number. */
export function renumberLive(old: number, page: number): void {
  const found = livePages.get(old);
  livePages.delete(old);
  if (found) livePages.set(page, found);
}
