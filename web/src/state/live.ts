/**
 * What changes many times a second while a page runs: states of blocks, what outputs hold, what monitors show. It is
 * kept outside React's state, and who shows a part of it listens to that part.
 */

import type { Viewport } from "../model/viewport.ts";
import type {
  BlockState,
  BlockStates,
  Monitored,
  Printed,
  Results,
  Run,
  Said,
  Series,
  Summary,
} from "../net/generated.ts";

export type Unsubscribe = () => void;

/** Points of a trend that are kept; older ones go first. */
const MAX_POINTS = 100_000;
/** Lines of what blocks printed that are kept. */
const MAX_LINES = 1000;

/** What an output held after a step, and in which revision of the page. */
export interface LastValue extends Summary {
  readonly revision: number;
  readonly step: number;
}

export class LivePage {
  /** What blocks printed in this run, another list after each message. */
  consoleLines: readonly Said[] = [];
  /** From 0 to 1, for the bar of what runs. */
  progress = 0;
  /** The last run that was asked for; undefined before the first. */
  lastRun: Run | undefined;
  /** The outputs whose thumbnails are on screen. */
  watchedPins: readonly string[] = [];
  /** Pan and zoom of the canvas; undefined before the page was first shown. */
  viewport: Viewport | undefined;
  private readonly states = new Map<string, BlockState>();
  private readonly summaries = new Map<string, LastValue>();
  private readonly seriesOf = new Map<string, Series>();
  /** The revision in which something that a block depends on was changed last. */
  private readonly changedIn = new Map<string, number>();
  /** The same of what was changed in this tab. */
  private readonly changedHereIn = new Map<string, number>();
  /** The revision in which monitors were changed here since the last run. */
  private monitorsChangedIn = 0;
  private readonly listeners = new Map<string, Set<() => void>>();
  private readonly anyListeners = new Set<() => void>();

  blockState(block: string): BlockState | undefined {
    return this.states.get(block);
  }

  /** What an output holds, by "block:pin". */
  summary(pin: string): LastValue | undefined {
    return this.summaries.get(pin);
  }

  series(monitor: string): Series | undefined {
    return this.seriesOf.get(monitor);
  }

  /** Whether the page was changed since an output got its value, so that it might have another one now. */
  isStale(pin: string): boolean {
    const held = this.summaries.get(pin);
    return held !== undefined && held.revision < (this.changedIn.get(blockOf(pin)) ?? 0);
  }

  /** Monitors were changed in this tab: they show nothing before the next run. */
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

  /** Calls back when the state of a block or the value of one of its outputs changes. */
  onBlock(block: string, call: () => void): Unsubscribe {
    return this.subscribe(`block/${block}`, call);
  }

  onConsole(call: () => void): Unsubscribe {
    return this.subscribe("console", call);
  }

  onMonitor(monitor: string, call: () => void): Unsubscribe {
    return this.subscribe(`monitor/${monitor}`, call);
  }

  /** Calls back when anything changes, once a message: for the canvas, which draws all at once. */
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

  // -- what the server says -------------------------------------------------------------------

  applyStates(message: BlockStates): void {
    this.progress = message.progress ?? 0;
    for (const state of message.blocks) this.states.set(state.block, state);
    this.notify(message.blocks.map((state) => `block/${state.block}`));
  }

  applyResults({ pins, revision, step }: Results): void {
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

  applyConsole({ texts }: Printed): void {
    const lines = texts.map(({ block, text }) => ({ block, text: text.replace(/\n$/, "") }));
    this.consoleLines = [...this.consoleLines, ...lines].slice(-MAX_LINES);
    this.notify(["console", ...new Set(texts.map(({ block }) => `block/${block}`))]);
  }

  /** These blocks depend on what was changed in this revision, in this tab or elsewhere. */
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

/** Trends go on where they were, in the lists that were there; all else is what came last. */
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
  // Rarely, and then many at once: each time moves the whole list.
  if (list.length > MAX_POINTS * 1.1) list.splice(0, list.length - MAX_POINTS);
}

const livePages = new Map<number, LivePage>();

/** What is live on a page. */
export function live(page: number): LivePage {
  const found = livePages.get(page) ?? new LivePage();
  livePages.set(page, found);
  return found;
}

export function forgetLive(page: number): void {
  livePages.delete(page);
}

/** The page has another number now. */
export function renumberLive(old: number, page: number): void {
  const found = livePages.get(old);
  livePages.delete(old);
  if (found) livePages.set(page, found);
}
