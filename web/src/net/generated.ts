// Made from src/backblocks/studio/messages.py by tools/generate.py. Do not edit.

export type State = "idle" | "starting" | "running" | "paused";

/**
 * Puts `value` at `path` of the document; takes away what is there if there is no value.
 *
 * A path is keys of objects and places in lists. At a key that an object has, the value takes the place
 * of the old one; a new key comes before the key `before`, or last. In a list a value is always a new
 * item, which comes at its place and moves those behind it.
 */
export interface Edit {
  path: (string | number)[];
  value?: unknown;
  before?: string;
}

/**
 * Opens a page by its path below the folder, a copy of a lesson, a page without a file that is
 * `unsaved`, or a new page if there is none of them.
 */
export interface Open {
  kind: "open";
  request: number;
  path?: string;
  lesson?: string;
  unsaved?: string;
}

export interface Close {
  kind: "close";
  page: number;
}

/** One step of editing. `number` counts the changes of this tab; `Changed` gives it back. */
export interface Change {
  kind: "change";
  page: number;
  number: number;
  edits: Edit[];
  label?: string;
}

/**
 * Writes the file; under a new name if there is a `path`.
 *
 * A file that something else has changed since is only written with `overwrite`.
 */
export interface Save {
  kind: "save";
  page: number;
  path?: string;
  overwrite?: boolean;
}

/** Makes the document what the file holds, or a version of it: by edits, so that it can be undone. */
export interface Revert {
  kind: "revert";
  page: number;
  version?: string;
}

export interface ListVersions {
  kind: "list versions";
  page: number;
}

/** Asks for the pages and arrays below the folder. */
export interface ListFiles {
  kind: "list files";
}

/**
 * Runs the page: once, so many steps, until its condition holds, or freely until told to stop.
 *
 * `to` are outputs or blocks that are wanted; what the page says if there are none. Blocks that touch
 * files only run with `allow_files`.
 */
export interface Run {
  kind: "run";
  page: number;
  mode?: "once" | "steps" | "until" | "free";
  steps?: number;
  to?: string[];
  allow_files?: boolean;
}

/** Directs what runs. `reset` lets variables and steps start again. */
export interface Control {
  kind: "control";
  page: number;
  what: "pause" | "go on" | "step" | "stop" | "reset";
}

/** The outputs whose pictures this tab shows now, in place of those before. */
export interface Watch {
  kind: "watch";
  page: number;
  pins: string[];
}

/**
 * Asks for a part of the last value of an output, which comes as a binary frame.
 *
 * `index` has for each axis a place or [first, behind the last, step]; axes it leaves out are whole.
 * With `shades` [low, high] it comes as one byte a cell: 0 NaN, 1 minus infinity, 2 infinity, 3 zero,
 * 4 below low, 5 above high, 6 to 255 from low to high. With `against` it is compared with that output.
 */
export interface Look {
  kind: "look";
  page: number;
  request: number;
  pin: string;
  index?: (number | number[])[];
  shades?: number[] | null;
  against?: string;
  comparison?: "difference" | "relative" | "ulp";
}

/** Asks what an output holds, or how it compares with another one; `Measured` answers. */
export interface Measure {
  kind: "measure";
  page: number;
  request: number;
  pin: string;
  against?: string;
  comparison?: "difference" | "relative" | "ulp";
}

/**
 * Asks for the next NaN or infinity of an output in row-major order, after the cell `after` if there
 * is one, beginning again from the first at the end; `FoundBad` answers.
 */
export interface FindBad {
  kind: "find bad";
  page: number;
  request: number;
  pin: string;
  after?: number[] | null;
}

/** Asks which cells of a block's tensors belong together; `Explained` answers. */
export interface Explain {
  kind: "explain";
  page: number;
  request: number;
  block: string;
}

/** Asks how one cell of what a gradient block gives compares with a finite difference. */
export interface CheckCell {
  kind: "check cell";
  page: number;
  request: number;
  block: string;
  cell: number[];
}

/** The tab no longer wants to know what it asked: the question is refused if it was not answered yet. */
export interface Leave {
  kind: "leave";
  page: number;
  request: number;
}

/**
 * Asks for elements `first` to `first + count` of an output as texts, in row-major order.
 *
 * With `python` the texts are as Python writes the elements, which of strings tells every byte.
 */
export interface Elements {
  kind: "elements";
  page: number;
  request: number;
  pin: string;
  first?: number;
  count?: number;
  python?: boolean;
}

/** Asks for the page as a script, or as a text that can leave its folder: with its arrays inside. */
export interface Export {
  kind: "export";
  page: number;
  request: number;
  to: "python" | "tensorflow" | "page";
}

/** A page that comes with backblocks. */
export interface Lesson {
  name: string;
  title: string;
  about: string;
  /** The page itself, of which the gallery draws a small picture. */
  document: Record<string, unknown>;
}

/** A page that has no file, but a journal. */
export interface Unsaved {
  name: string;
  title: string;
  changes: number;
  since: number;
  /** Its file, if it had one that is gone. */
  lost?: string;
}

/** The first message. `session` is another one after the server has started anew. */
export interface Welcome {
  kind: "welcome";
  session: string;
  version: string;
  folder: string;
  lessons: Lesson[];
  /** The page that was asked for on the command line. */
  start?: string;
  /** Pages without a file, or whose file is gone, whose changes were found in journals. */
  unsaved?: Unsaved[];
}

/** A page is open. Its document has the draft in it, if one was found. */
export interface Opened {
  kind: "opened";
  request: number;
  page: number;
  document: Record<string, unknown>;
  revision: number;
  path?: string;
  /** The revision that the file holds; -1 if it holds none of them. */
  saved_revision?: number;
  draft?: Draft | null;
  /** By which a page without a file can be opened again. */
  unsaved?: string;
}

/** Changes that were never saved, found in the journal. */
export interface Draft {
  changes: number;
  /** When the last of them was made, in seconds since 1970. */
  since: number;
  damage?: Damage | null;
}

/** What of a journal is not in the document, because the disk did not give back what was written. */
export interface Damage {
  /** Lines whose checksum is wrong, each a change. */
  lines: number;
  /** Changes that could be read but not made, because they build on one that is lost. */
  unapplied: number;
  /** The file that the whole journal was copied to before it went on without them. */
  copy: string;
}

/** The document has changed, by this tab's own change (then `number` is not 0) or by another's. */
export interface Changed {
  kind: "changed";
  page: number;
  revision: number;
  edits: Edit[];
  number?: number;
  label?: string;
}

/** All changes up to this revision are on the disk. */
export interface Journaled {
  kind: "journaled";
  page: number;
  revision: number;
}

export interface Saved {
  kind: "saved";
  page: number;
  revision: number;
  path: string;
}

/** The file was changed by something else, or cannot be written. */
export interface SaveRefused {
  kind: "save refused";
  page: number;
  reason: "changed outside" | "exists" | "failed";
  text: string;
}

export interface Version {
  name: string;
  saved: number;
  blocks: number;
}

export interface Versions {
  kind: "versions";
  page: number;
  versions: Version[];
}

export interface File {
  path: string;
  bytes: number;
  changed: number;
}

export interface Files {
  kind: "files";
  files: File[];
}

/** Element type and sizes of an output. An open size is a name: the same name is the same size. */
export interface Spec {
  dtype: string;
  /** None if even the number of axes is open. */
  shape?: (number | string)[] | null;
}

/** What is wrong, where, and what to do, in the words of the library. */
export interface Problem {
  text: string;
  block?: string;
  /** The input or attribute. */
  arg?: string;
  axis?: number | null;
  hint?: string;
  /** Why a run ended where the library does not say it, so that it can be said in other languages. */
  reason?: "" | "not stopped" | "killed" | "crashed" | "ended" | "memory";
  /** The signal or the exit code that belongs to it. */
  detail?: string;
}

/** What the document of this revision gives: the types on its wires, and all that is wrong. */
export interface Checked {
  kind: "checked";
  page: number;
  revision: number;
  /** By "block:pin", or "block:pin[2]" of a list. */
  pins: Record<string, Spec>;
  /** For blocks whose pins the page decides (a page as a block): the names of their inputs. */
  inputs: Record<string, string[]>;
  problems: Problem[];
  /** Blocks that touch files, and whether each "reads" or "writes" them. */
  files?: Record<string, string>;
  peak_bytes?: number | null;
}

export interface RunState {
  kind: "run state";
  page: number;
  state: State;
  /** Steps since variables were reset. */
  step?: number;
  /** The step that it is to end with, if that is known. */
  steps?: number | null;
  seconds?: number;
  executed?: number;
  cached?: number;
  peak_bytes?: number;
  /** Why it ended, if it failed. */
  problem?: Problem | null;
  /** Set if the run waits for a yes: blocks that touch files. */
  needs_files?: Record<string, string>;
  /** Whether the user ended it. */
  stopped?: boolean;
}

export interface BlockState {
  block: string;
  state: "waiting" | "running" | "done" | "cached" | "failed" | "skipped";
  seconds?: number;
  bytes?: number;
}

/** States that changed since the last such message; at most 20 messages a second. */
export interface BlockStates {
  kind: "block states";
  page: number;
  revision: number;
  blocks: BlockState[];
  progress?: number;
}

/** What one output holds now. */
export interface Summary {
  dtype: string;
  shape: number[];
  /** The value if it is short, else its first elements. */
  text: string;
  low?: number | null;
  high?: number | null;
  mean?: number | null;
  deviation?: number | null;
  zeros?: number;
  nans?: number;
  infinities?: number;
  /** A map of at most 32 x 32 bytes, as base64: 0 for NaN, 1 to 255 from low to high. */
  picture?: string;
  picture_shape?: number[];
}

/** Summaries of watched outputs after a step. */
export interface Results {
  kind: "results";
  page: number;
  revision: number;
  step: number;
  pins: Record<string, Summary>;
}

/** What one curve of a trend, or one number, is of. */
export interface Curve {
  /** Which of the monitor's `shows`. */
  shown: number;
  /** Which element of it, where it has several. */
  element?: number[];
  /** Of how many elements it is the mean, where there are too many to tell apart. */
  mean_of?: number;
}

/** What a monitor got to show: the newest values of each of its `shows`, in order. */
export interface Series {
  steps?: number[];
  /** For a number or a trend: one for each element that is shown. */
  curves?: Curve[];
  /** For each of the curves its values at those steps. */
  values?: (number | null)[][];
  /** For an image: float32 rows as base64. */
  picture?: string;
  picture_shape?: number[];
  /** For a histogram: counts of each shown output between `edges`. */
  counts?: number[][];
  edges?: number[];
  problem?: string;
}

export interface Monitored {
  kind: "monitored";
  page: number;
  monitors: Record<string, Series>;
  /** What was shown before is over: variables were reset. */
  fresh?: boolean;
}

/** What a block wrote to the terminal. */
export interface Said {
  block: string;
  text: string;
}

/** What blocks such as Print wrote since the last such message, in order. */
export interface Printed {
  kind: "printed";
  page: number;
  texts: Said[];
}

/** The header of a binary frame. */
export interface Slice {
  request: number;
  pin: string;
  dtype: string;
  shape: number[];
  step: number;
}

/** Elements of a value as texts, answering `Elements`. */
export interface Listed {
  kind: "listed";
  request: number;
  pin: string;
  dtype: string;
  shape: number[];
  first: number;
  texts: string[];
}

/** A cell where two outputs differ most: its place, and what each holds there, as text. */
export interface Worst {
  cell: number[];
  first: string;
  second: string;
  difference: string;
}

/** What an output holds, or what the comparison of two gives. NaN and infinities are counted apart. */
export interface Measured {
  kind: "measured";
  request: number;
  pin: string;
  dtype: string;
  shape: number[];
  step: number;
  low?: number | null;
  high?: number | null;
  mean?: number | null;
  deviation?: number | null;
  first_percent?: number | null;
  /** Between these two lie 98 of 100 cells. */
  last_percent?: number | null;
  zeros?: number;
  nans?: number;
  infinities?: number;
  /** Of cells in 64 equal ranges from low to high. */
  counts?: number[];
  /** Of a part of the cells, spread evenly: the exact answer follows with the same `request`. */
  sampled?: boolean;
  /** Cells that differ, of two outputs. */
  mismatches?: number | null;
  worst?: Worst[];
}

/** How much of what takes long is done, from 0 to 1; told every half second until the answer comes. */
export interface Progress {
  kind: "progress";
  request: number;
  part: number;
}

/** The next NaN or infinity, and the output that had one first in the order of computing. */
export interface FoundBad {
  kind: "found bad";
  request: number;
  cell: number[] | null;
  first_pin?: string;
  first_cell?: number[];
}

/** The cell of a tensor at each point of the loops, one coordinate for each axis. */
export interface Cells {
  at: Coordinate[];
  /** The sizes it is looked at with, in row-major order, if they are not its own. */
  shape?: number[] | null;
}

/**
 * An offset, steps by loop, and what another tensor or a table holds in a cell of its own, if any:
 * the sum of all three.
 */
export interface Coordinate {
  offset?: number;
  steps?: Record<string, number>;
  held_by?: string;
  held_at?: Coordinate[];
}

/** Numbers that no tensor holds and that products have as a factor: which one, a coordinate says. */
export interface Factor {
  numbers: number[];
  at?: Coordinate;
}

/**
 * Loops, and the cell of each tensor at each of their points. A point whose cell lies outside of a
 * tensor is none. All cells of one point belong together.
 */
export interface Way {
  /** How the output comes from the points that lead to its cell (see backblocks.ops._cells). */
  rule: string;
  /** The tensors that the rule takes, in its order. */
  of: string[];
  /** In their order, the first is the outermost: "the first largest" goes by it. */
  loops: Record<string, number>;
  /** By input or output, "values[1]" of a list. */
  cells: Record<string, Cells>;
  /** Numbers that coordinates are held by, where no tensor has them. */
  tables?: Record<string, number[]>;
  /** Further cells, of no tensor, that must lie inside of their sizes for a point to be one. */
  inside?: Cells[];
  /** Of each product of a sum. */
  factors?: Factor[];
  /**
   * Tensors that hold codes of numbers, with those of the low and the high end of their range. A sum is
   *     one of numbers; all other rules go by the codes.
   *
   */
  codes?: Record<string, string[]>;
  /** The axes of the rule's first tensor along which its places are counted, where they are the result. */
  counts?: number[];
  /** Whether what it comes to is cut to a whole number, toward zero. */
  cut?: boolean;
}

/** A tensor of a block: the name by which `Look` and `Measure` take it, and what it is. */
export interface Tensor {
  pin: string;
  dtype: string;
  shape: number[];
  /** Typed into the block or a Const, so that it can be edited. */
  constant?: boolean;
}

export interface Explained {
  kind: "explained";
  request: number;
  block: string;
  op: string;
  step: number;
  /** Inputs in their order, then outputs. */
  tensors: Record<string, Tensor>;
  outputs: string[];
  ways: Way[];
  /** The block of this page whose gradient this block is. */
  forward?: string;
  /** Whether its op says which cells belong together; if so and without ways, none do. */
  told?: boolean;
}

/** A gradient at a cell beside the slope that a finite difference gives there, all numbers as text. */
export interface CellChecked {
  kind: "cell checked";
  request: number;
  given: string;
  slope?: string;
  agrees?: boolean;
  /** Why there is no slope to compare with; empty where there is one. */
  why?: "" | "not finite" | "in its way" | "two slopes" | "whole numbers" | "chance" | "needs" | "too large";
  /** The slopes to both sides, where they are two. */
  below?: string;
  above?: string;
  /** The op whose gradient it is; its input that is not known, or how many cells are too many. */
  about?: string[];
}

/** A constant that a page which leaves its folder still has in a file. */
export interface LeftBehind {
  /** Of its block, or of the placeholder that it is fed to. */
  name: string;
  file: string;
  /** How many are too many; 0 if the file cannot be read. */
  cells?: number;
}

export interface Exported {
  kind: "exported";
  request: number;
  text: string;
  left?: LeftBehind[];
}

/** A command was not carried out. The tab takes back the change of this `number`, if there is one. */
export interface Refused {
  kind: "refused";
  text: string;
  request?: number;
  page?: number;
  number?: number;
}

export type Command =
  | Open
  | Close
  | Change
  | Save
  | Revert
  | ListVersions
  | ListFiles
  | Run
  | Control
  | Watch
  | Look
  | Elements
  | Measure
  | FindBad
  | Explain
  | CheckCell
  | Leave
  | Export;

export type Message =
  | Welcome
  | Opened
  | Changed
  | Journaled
  | Saved
  | SaveRefused
  | Versions
  | Files
  | Checked
  | RunState
  | BlockStates
  | Results
  | Monitored
  | Printed
  | Listed
  | Measured
  | Progress
  | FoundBad
  | Explained
  | CellChecked
  | Exported
  | Refused;
