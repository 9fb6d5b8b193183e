// Generated from src/backblocks/studio/messages.py by tools/generate.py. Do not edit.

import type { PageDocument } from "../model/generated.ts";
import type { Json } from "../model/json.ts";

/**
 * How two outputs are compared: first minus second, that divided by the larger magnitude of the two, or how
 * many numbers of their type lie between them.
 */
export type Comparison = "difference" | "relative" | "ulp";

/** Why a finite difference gives no slope to compare a gradient with. */
export type NoSlope =
  | ""
  | "not finite"
  | "non-finite result"
  | "two slopes"
  | "integers"
  | "random op"
  | "unknown input"
  | "too large";

export type State = "idle" | "starting" | "running" | "paused";

/**
 * Sets `value` at `path` of the document; removes what is there if there is no value.
 *
 * A path has keys of objects and indices of lists. At a key that an object has, the value replaces the old
 * one; a new key comes before the key `before`, or last. In a list a value is always inserted, at its index
 * and before the items from there on.
 */
export interface Edit {
  readonly path: readonly (string | number)[];
  readonly value?: Json;
  readonly before?: string;
}

/**
 * Opens a page by its path below the folder, a copy of a lesson, a page without a file that is
 * `unsaved`, or a new page if there is none of them.
 *
 * An `unsaved` page that was `untouched` has no journal: it starts again, as a copy of the lesson or empty.
 */
export interface Open {
  readonly kind: "open";
  readonly request: number;
  readonly path?: string;
  readonly lesson?: string;
  readonly unsaved?: string;
  readonly untouched?: boolean;
  readonly client?: string;
  /** Numbers of this client's changes that were not acknowledged, after a lost connection. */
  readonly pending?: readonly number[];
}

export interface Close {
  readonly kind: "close";
  readonly page: number;
}

/** One step of editing. A client numbers its changes of a page; one that the page has is dropped. */
export interface Change {
  readonly kind: "change";
  readonly page: number;
  readonly client: string;
  readonly number: number;
  readonly edits: readonly Edit[];
  readonly label?: string;
}

/**
 * Writes the file; under a new name if there is a `path`.
 *
 * A file that something else has changed since is only written with `overwrite`.
 */
export interface Save {
  readonly kind: "save";
  readonly page: number;
  readonly path?: string;
  readonly overwrite?: boolean;
}

/** Reverts the document to the file, or to a version of it, by edits that can be undone. */
export interface Revert {
  readonly kind: "revert";
  readonly page: number;
  readonly version?: string;
}

export interface ListVersions {
  readonly kind: "list versions";
  readonly page: number;
}

/** Lists the pages and arrays of the workspace, and the drafts; `Files` and `Drafts` answer. */
export interface ListFiles {
  readonly kind: "list files";
}

/** Deletes the journal of a page without a file that no tab has open. */
export interface DeleteDraft {
  readonly kind: "delete draft";
  readonly name: string;
}

/** A page that a browser tab has open, as it can be opened again, and the part of it that is shown. */
export interface PageView {
  readonly path?: string;
  readonly unsaved?: string;
  readonly lesson?: string;
  readonly untouched?: boolean;
  /** Offset x and y, and zoom. */
  readonly viewport?: readonly number[] | null;
}

/** The pages of a browser tab in their order, and which of them is active; -1 if none is. */
export interface TabState {
  readonly pages: readonly PageView[];
  readonly active?: number;
}

/** Keeps what the tab has open, for when it is reloaded or the studio is started again. */
export interface KeepTabState {
  readonly kind: "keep tab state";
  readonly state: TabState;
}

/**
 * Runs the page: once, so many steps, until its condition holds, or freely until told to stop.
 *
 * `to` are outputs to fetch and blocks to run; without them the page's run settings hold. Blocks that read
 * or write files only run with `allow_files`.
 */
export interface Run {
  readonly kind: "run";
  readonly page: number;
  readonly mode?: "once" | "steps" | "until" | "free";
  readonly steps?: number;
  readonly to?: readonly string[];
  readonly allow_files?: boolean;
  /** Whether the tab repeats a run after an edit: of such runs in a row the last is kept. */
  readonly automatic?: boolean;
}

/** Controls a run. `reset` resets variables and the count of steps. */
export interface Control {
  readonly kind: "control";
  readonly page: number;
  readonly what: "pause" | "go on" | "step" | "stop" | "reset";
}

/**
 * Keeps the variables as they are, as the snapshot of the run that gave them; or restores or deletes the
 * snapshot of a `run`.
 */
export interface Snapshot {
  readonly kind: "snapshot";
  readonly page: number;
  readonly what: "keep" | "restore" | "delete";
  readonly run?: number;
}

/** Asks how the page changed between two runs; `RunsCompared` answers. */
export interface CompareRuns {
  readonly kind: "compare runs";
  readonly page: number;
  readonly request: number;
  readonly first: number;
  readonly second: number;
}

/** Subscribes the tab to the summaries of these outputs, in place of those before. */
export interface Subscribe {
  readonly kind: "subscribe";
  readonly page: number;
  readonly pins: readonly string[];
  /** The axes that are rows and columns of pictures, of outputs whose axes have names. */
  readonly axes?: Readonly<Record<string, readonly number[]>>;
}

/**
 * Reads a slice of the last value of an output, which comes as a binary frame.
 *
 * `index` has for each axis an index or [start, stop, step]; axes it leaves out are whole. With `shades`
 * [low, high] the slice is quantised to a byte for each element: 0 NaN, 1 minus infinity, 2 infinity,
 * 3 zero, 4 below low, 5 above high, 6 to 255 from low to high. With `against` it is the comparison with
 * that output.
 */
export interface ReadSlice {
  readonly kind: "read slice";
  readonly page: number;
  readonly request: number;
  readonly pin: string;
  readonly index?: readonly (number | readonly number[])[];
  readonly shades?: readonly number[] | null;
  readonly against?: string;
  readonly comparison?: Comparison;
}

/** Computes statistics of an output, or of its comparison with another one; `Statistics` answers. */
export interface ComputeStatistics {
  readonly kind: "compute statistics";
  readonly page: number;
  readonly request: number;
  readonly pin: string;
  readonly against?: string;
  readonly comparison?: Comparison;
}

/**
 * Finds the next NaN or infinity of an output in row-major order, after the cell `after` if there is one,
 * wrapping around at the end; `FoundNonFinite` answers.
 */
export interface FindNonFinite {
  readonly kind: "find non-finite";
  readonly page: number;
  readonly request: number;
  readonly pin: string;
  readonly after?: readonly number[] | null;
}

/** Asks which cells of a block's tensors belong together, its access maps; `Explained` answers. */
export interface Explain {
  readonly kind: "explain";
  readonly page: number;
  readonly request: number;
  readonly block: string;
}

/** Compares one cell of a gradient block's output with a finite difference; `GradientChecked` answers. */
export interface CheckGradient {
  readonly kind: "check gradient";
  readonly page: number;
  readonly request: number;
  readonly block: string;
  readonly cell: readonly number[];
}

/** Cancels a request of this tab, which is then refused unless it was answered. */
export interface Cancel {
  readonly kind: "cancel";
  readonly page: number;
  readonly request: number;
}

/**
 * Reads elements `first` to `first + count` of an output as texts, in row-major order.
 *
 * With `python` the texts are Python's repr of the elements, which has every byte of strings.
 */
export interface ReadElements {
  readonly kind: "read elements";
  readonly page: number;
  readonly request: number;
  readonly pin: string;
  readonly first?: number;
  readonly count?: number;
  readonly python?: boolean;
}

/** Exports the page as a script, or as a page with its arrays inline; `Exported` answers. */
export interface Export {
  readonly kind: "export";
  readonly page: number;
  readonly request: number;
  readonly to: "python" | "tensorflow" | "page";
}

/** An array of a file that was dropped on a page, as `/api/array` gives it. */
export interface ImportedArray {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** What the page writes for it; none if it is large, and somebody has to say whether they want a part. */
  readonly constant: Json;
}

/** A page that comes with backblocks. */
export interface Lesson {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** The page, of which the gallery draws a small picture. */
  readonly document: PageDocument;
}

/** A page without a file that has a journal. */
export interface Unsaved {
  readonly name: string;
  /** When it was last changed, in seconds since 1970. */
  readonly since: number;
  /** The page without its long constants, of which the gallery draws a small picture. */
  readonly document: PageDocument;
  /** Its file, if it had one that is gone. */
  readonly lost?: string;
}

/** The first message. `session` is another one after the server has started anew. */
export interface Welcome {
  readonly kind: "welcome";
  readonly session: string;
  readonly version: string;
  readonly folder: string;
  readonly lessons: readonly Lesson[];
  /** The page that was asked for on the command line. */
  readonly start?: string;
  /** What this tab had open before it was reloaded, or a tab that is gone. */
  readonly tab?: TabState | null;
}

/** Pages without a file, or whose file is gone, that were changed; whether a tab has them open or not. */
export interface Drafts {
  readonly kind: "drafts";
  readonly drafts: readonly Unsaved[];
}

/** A page is open. Its document has the draft in it, if one was found. */
export interface Opened {
  readonly kind: "opened";
  readonly request: number;
  readonly page: number;
  readonly document: PageDocument;
  readonly revision: number;
  readonly path?: string;
  /**
   * The document that its file holds, or that a page without a file started from, if that is another one;
   *     None if the file is gone.
   */
  readonly saved?: PageDocument | null;
  readonly draft?: Draft | null;
  /** The name by which a page without a file can be opened again. */
  readonly unsaved?: string;
  /** The lesson that it is a copy of. */
  readonly lesson?: string;
  /** The numbers of the `pending` changes that the document has. */
  readonly applied?: readonly number[];
}

/** Changes that were never saved, found in the journal. */
export interface Draft {
  readonly changes: number;
  /** When the last of them was made, in seconds since 1970. */
  readonly since: number;
  readonly damage?: Damage | null;
}

/** What was lost of a journal that the disk has damaged. */
export interface Damage {
  /** Lines whose checksum is wrong, each a change. */
  readonly lines: number;
  /** Changes that could be read but not made, because they build on one that is lost. */
  readonly unapplied: number;
  /** The file that the whole journal was copied to before it went on without them. */
  readonly copy: string;
}

/**
 * The document has changed, by this change of the client; of none if the server changed it.
 *
 * A change that came again is acknowledged without edits.
 */
export interface Changed {
  readonly kind: "changed";
  readonly page: number;
  readonly revision: number;
  readonly edits: readonly Edit[];
  readonly client?: string;
  readonly number?: number;
  readonly label?: string;
}

/** All changes up to this revision are on the disk. */
export interface Journaled {
  readonly kind: "journaled";
  readonly page: number;
  readonly revision: number;
}

export interface Saved {
  readonly kind: "saved";
  readonly page: number;
  readonly revision: number;
  readonly path: string;
}

/** The file was changed by something else, or cannot be written. */
export interface SaveRefused {
  readonly kind: "save refused";
  readonly page: number;
  readonly reason: "changed outside" | "exists" | "failed";
  readonly text: string;
}

export interface Version {
  readonly name: string;
  readonly saved: number;
  readonly blocks: number;
}

export interface Versions {
  readonly kind: "versions";
  readonly page: number;
  readonly versions: readonly Version[];
}

export interface File {
  readonly path: string;
  readonly bytes: number;
  readonly changed: number;
  /** Whether it is a page with changes that are not saved. */
  readonly draft?: boolean;
}

export interface Files {
  readonly kind: "files";
  readonly files: readonly File[];
}

/** Element type and sizes of an output. An open size is a name: the same name is the same size. */
export interface Spec {
  readonly dtype: string;
  /** None if even the number of axes is open. */
  readonly shape?: readonly (number | string)[] | null;
}

/** A change of a block that makes the broken rule hold, which the tab makes as one step of editing. */
export interface Fix {
  /**
   * set: gives attributes, or inputs that are constants, these `values`; insert: puts a block of `op`
   *     before an input, with `values` as its other inputs and attributes; swap: exchanges two inputs; constant:
   *     gives an input that is a constant the "shape" or "dtype" of `values`.
   */
  readonly kind: "set" | "insert" | "swap" | "constant";
  readonly args: readonly string[];
  readonly values?: PageDocument;
  readonly op?: string;
  /** The block that has the same values already. */
  readonly like?: string;
}

/** An error of the library: what is wrong, where, and what to do. */
export interface Problem {
  readonly text: string;
  readonly block?: string;
  /** The input or attribute. */
  readonly arg?: string;
  readonly axis?: number | null;
  readonly hint?: string;
  /** Why a run ended where the library does not say it, so that it can be said in other languages. */
  readonly reason?: "" | "not stopped" | "killed" | "crashed" | "ended" | "memory";
  /** The signal or the exit code that belongs to it. */
  readonly detail?: string;
  /** What makes the rule hold, the best first. */
  readonly fixes?: readonly Fix[];
}

/** The result of a check of this revision: the types on its wires, and all that is wrong. */
export interface Checked {
  readonly kind: "checked";
  readonly page: number;
  readonly revision: number;
  /** By "block:pin", or "block:pin[2]" of a list. */
  readonly pins: Readonly<Record<string, Spec>>;
  /** For blocks whose pins the page decides (a page as a block): the names of their inputs. */
  readonly inputs: Readonly<Record<string, readonly string[]>>;
  readonly problems: readonly Problem[];
  /** Blocks that touch files, and whether each "reads" or "writes" them. */
  readonly files?: Readonly<Record<string, string>>;
  readonly peak_bytes?: number | null;
}

export interface RunState {
  readonly kind: "run state";
  readonly page: number;
  readonly state: State;
  /** Steps since variables were reset. */
  readonly step?: number;
  /** The step that it is to end with, if that is known. */
  readonly steps?: number | null;
  readonly seconds?: number;
  readonly executed?: number;
  readonly cached?: number;
  readonly peak_bytes?: number;
  /** Why it ended, if it failed. */
  readonly problem?: Problem | null;
  /** Set if the run waits for a yes: blocks that touch files. */
  readonly needs_files?: Readonly<Record<string, string>>;
  /** Whether the user ended it. */
  readonly stopped?: boolean;
  /** The number of the run. */
  readonly run?: number;
  /** Once it is over, how many blocks have run. */
  readonly ran?: number;
  /** How many blocks were to run: those with problems count, and what needs them. */
  readonly of?: number;
  /** How many problems kept blocks from running. */
  readonly problems?: number;
}

export interface BlockState {
  readonly block: string;
  readonly state: "waiting" | "running" | "done" | "cached" | "failed" | "skipped";
  readonly seconds?: number;
  readonly bytes?: number;
}

/** States that changed since the last such message; at most 20 messages a second. */
export interface BlockStates {
  readonly kind: "block states";
  readonly page: number;
  readonly revision: number;
  readonly blocks: readonly BlockState[];
  readonly progress?: number;
}

/** Which cells of a tensor a picture shows. */
export interface Plane {
  /** For each axis the index of the slice; None of one that is shown whole; empty if all are. */
  readonly at?: readonly (number | null)[];
  /** Rows and columns of the tensor in one cell of the picture; none if each has a cell of its own. */
  readonly area?: readonly number[];
  /** Whether a cell of the picture is the first of its area, and not the one farthest from zero. */
  readonly sampled?: boolean;
}

/** The summary of an output's last value. */
export interface Summary {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The value if it is short, else its first elements. */
  readonly text: string;
  readonly low?: number | null;
  readonly high?: number | null;
  readonly mean?: number | null;
  readonly deviation?: number | null;
  readonly zeros?: number;
  readonly nans?: number;
  readonly infinities?: number;
  /** A map of at most 32 x 32 bytes, as base64: 0 for NaN, 1 to 255 from low to high. */
  readonly picture?: string;
  readonly picture_shape?: readonly number[];
  readonly plane?: Plane;
}

/** Summaries of subscribed outputs after a step. */
export interface Summaries {
  readonly kind: "summaries";
  readonly page: number;
  readonly revision: number;
  readonly step: number;
  readonly pins: Readonly<Record<string, Summary>>;
}

/** The output and element of one curve of a trend, or of one number. */
export interface Curve {
  /** The index of the output in the monitor's `shows`. */
  readonly shown: number;
  /** The index of the element, where the output has several. */
  readonly element?: readonly number[];
  /** The number of elements it is the mean of, where there are too many to tell apart; else 0. */
  readonly mean_of?: number;
}

/** The data of a monitor: the newest values of each of its `shows`, in order. */
export interface Series {
  readonly steps?: readonly number[];
  /** For a number or a trend: one for each element that is shown. */
  readonly curves?: readonly Curve[];
  /** For each of the curves its values at those steps. */
  readonly values?: readonly (readonly (number | null)[])[];
  /** For an image: float32 rows as base64. */
  readonly picture?: string;
  readonly picture_shape?: readonly number[];
  readonly plane?: Plane;
  /** For a histogram: counts of each shown output between `edges`. */
  readonly counts?: readonly (readonly number[])[];
  readonly edges?: readonly number[];
  /** Whether each bin of the histogram is around one integer. */
  readonly whole?: boolean;
  readonly problem?: string;
}

/** The mean time of a block in a step, and the bytes of its outputs. */
export interface BlockCost {
  readonly block: string;
  readonly seconds?: number;
  readonly bytes?: number;
}

/**
 * A snapshot: the step and the bytes of its variables, and which of them are outputs on the page.
 *
 * Queries take the value of one by its output and the run, as "weights:ref@3".
 */
export interface KeptVariables {
  readonly step: number;
  readonly bytes: number;
  readonly pins?: readonly string[];
}

/** A run that is kept: what it was asked, how it ended, its curves and what each block took. */
export interface RunRecord {
  readonly run: number;
  readonly mode: "once" | "steps" | "until" | "free";
  /** In seconds since 1970. */
  readonly started: number;
  readonly steps?: number;
  readonly to?: readonly string[];
  readonly until?: string;
  readonly seed?: number | null;
  readonly automatic?: boolean;
  /** Whether the page was edited while it ran. */
  readonly edited?: boolean;
  /** Counts how often variables began anew: runs of the same lineage continue one another. */
  readonly lineage?: number;
  /** Empty while it runs; "incomplete" where problems kept blocks from running. */
  readonly end?: "" | "done" | "incomplete" | "failed" | "stopped";
  readonly problem?: Problem | null;
  readonly first_step?: number;
  /** The steps before it, and after it. */
  readonly step?: number;
  readonly seconds?: number;
  readonly ran?: number;
  readonly of?: number;
  readonly problems?: number;
  readonly peak_bytes?: number;
  /** Of each trend and number, sampled. */
  readonly curves?: Readonly<Record<string, Series>>;
  /** In how many of its steps the blocks were timed. */
  readonly timed_steps?: number;
  /** In the order of the page. */
  readonly blocks?: readonly BlockCost[];
  readonly snapshot?: KeptVariables | null;
}

/** The runs that are kept: the numbers of all, and those of them that are new or have changed. */
export interface Runs {
  readonly kind: "runs";
  readonly page: number;
  readonly kept: readonly number[];
  readonly changed?: readonly RunRecord[];
  /** How many older ones were dropped. */
  readonly dropped?: number;
  readonly most_snapshots?: number;
}

/** What changed on the page between two runs, as `backblocks diff` says it. */
export interface RunsCompared {
  readonly kind: "runs compared";
  readonly request: number;
  readonly changes: readonly string[];
}

export interface Monitored {
  readonly kind: "monitored";
  readonly page: number;
  readonly monitors: Readonly<Record<string, Series>>;
  /** Whether it replaces all earlier data: variables were reset. */
  readonly fresh?: boolean;
}

/** A text that a block printed. */
export interface LogLine {
  readonly block: string;
  readonly text: string;
}

/** Log lines of blocks such as Print since the last such message, in order. */
export interface ConsoleOutput {
  readonly kind: "console output";
  readonly page: number;
  readonly lines: readonly LogLine[];
}

/** The header of a binary frame. */
export interface Slice {
  readonly request: number;
  readonly pin: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly step: number;
}

/** Elements of a value as texts, answering `ReadElements`. */
export interface ElementTexts {
  readonly kind: "element texts";
  readonly request: number;
  readonly pin: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly first: number;
  readonly texts: readonly string[];
}

/** A cell where two outputs differ most: its index, and the elements of both as text. */
export interface Mismatch {
  readonly cell: readonly number[];
  readonly first: string;
  readonly second: string;
  readonly difference: string;
}

/** Statistics of an output, or of the comparison of two. NaN and infinities are only counted. */
export interface Statistics {
  readonly kind: "statistics";
  readonly request: number;
  readonly pin: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly step: number;
  readonly low?: number | null;
  readonly high?: number | null;
  readonly mean?: number | null;
  readonly deviation?: number | null;
  readonly first_percent?: number | null;
  /** The 1st and the 99th percentile. */
  readonly last_percent?: number | null;
  readonly zeros?: number;
  readonly nans?: number;
  readonly infinities?: number;
  /** A histogram: a bin for each integer from low to high if `whole`, else 64 from low to high. */
  readonly counts?: readonly number[];
  /** Whether all elements are integers, of a range that has a bin for each. */
  readonly whole?: boolean;
  /** Whether they are those of a sample: the exact ones follow with the same `request`. */
  readonly sampled?: boolean;
  /** How many elements of two outputs differ. */
  readonly mismatches?: number | null;
  readonly worst?: readonly Mismatch[];
}

/** The progress of a request that takes long, from 0 to 1; sent every half second until its answer. */
export interface Progress {
  readonly kind: "progress";
  readonly request: number;
  readonly part: number;
}

/** The next NaN or infinity, and the first output upstream that has one. */
export interface FoundNonFinite {
  readonly kind: "found non-finite";
  readonly request: number;
  readonly cell: readonly number[] | null;
  readonly first_pin?: string;
  readonly first_cell?: readonly number[];
}

/** The cell of a tensor at each point of the loops, one coordinate for each axis. */
export interface Cells {
  readonly at: readonly Coordinate[];
  /** The sizes it is looked at with, in row-major order, if they are not its own. */
  readonly shape?: readonly number[] | null;
}

/**
 * An offset, steps by loop, and what another tensor or a table holds in a cell of its own, if any:
 * the sum of all three.
 */
export interface Coordinate {
  readonly offset?: number;
  readonly steps?: Readonly<Record<string, number>>;
  readonly held_by?: string;
  readonly held_at?: readonly Coordinate[];
}

/** Numbers that no tensor holds and that products have as a factor: which one, a coordinate says. */
export interface Factor {
  readonly numbers: readonly number[];
  readonly at?: Coordinate;
}

/**
 * A loop nest, and the cell of each tensor at each of its points. A point whose cell lies outside of a
 * tensor is skipped. All cells of one point belong together.
 */
export interface AccessMap {
  /** How the output comes from the points that lead to its cell (see backblocks.ops._access_maps). */
  readonly rule: string;
  /** The tensors that the rule takes, in its order. */
  readonly of: readonly string[];
  /** The size of each loop, the outermost first: "the first largest" goes by this order. */
  readonly loops: Readonly<Record<string, number>>;
  /** The cell of each input or output by pin; "values[1]" of a list. */
  readonly cells: Readonly<Record<string, Cells>>;
  /** Numbers that coordinates are held by, where no tensor has them. */
  readonly tables?: Readonly<Record<string, readonly number[]>>;
  /** Further cells, of no tensor, that must lie inside of their sizes for a point to be one. */
  readonly inside?: readonly Cells[];
  /** Constant factors of each product of a sum. */
  readonly factors?: readonly Factor[];
  /**
   * Tensors that hold codes of numbers, with those of the low and the high end of their range. A sum is
   *     one of numbers; all other rules go by the codes.
   *
   */
  readonly codes?: Readonly<Record<string, readonly string[]>>;
  /** The axes of the rule's first tensor along which its places are counted, where they are the result. */
  readonly counts?: readonly number[];
  /** Whether the result is truncated toward zero. */
  readonly cut?: boolean;
}

/** A tensor of a block: the pin by which queries take it, its type and its shape. */
export interface Tensor {
  readonly pin: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Typed into the block or a Const, so that it can be edited. */
  readonly constant?: boolean;
}

export interface Explained {
  readonly kind: "explained";
  readonly request: number;
  readonly block: string;
  readonly op: string;
  readonly step: number;
  /** Inputs in their order, then outputs. */
  readonly tensors: Readonly<Record<string, Tensor>>;
  readonly outputs: readonly string[];
  readonly access_maps: readonly AccessMap[];
  /** The block of this page whose gradient this block is. */
  readonly forward?: string;
  /** Whether its op declares access maps; if it does and has none here, no cells belong together. */
  readonly declared?: boolean;
}

/** A gradient at a cell beside the slope that a finite difference gives there, all numbers as text. */
export interface GradientChecked {
  readonly kind: "gradient checked";
  readonly request: number;
  readonly given: string;
  readonly slope?: string;
  readonly agrees?: boolean;
  /** Why there is no slope to compare with; empty where there is one. */
  readonly why?: NoSlope;
  /** The slopes to both sides, where they are two. */
  readonly below?: string;
  readonly above?: string;
  /** The op whose gradient it is; its input that is not known, or how many cells are too many. */
  readonly about?: readonly string[];
}

/** A constant of an exported page that stays in its npy file. */
export interface OmittedArray {
  /** The block, or the placeholder it is fed to. */
  readonly name: string;
  readonly file: string;
  /** Its size if that is too large; 0 if the file cannot be read. */
  readonly elements?: number;
}

export interface Exported {
  readonly kind: "exported";
  readonly request: number;
  readonly text: string;
  readonly omitted?: readonly OmittedArray[];
}

/** A command was not carried out. The tab takes back the change of this `number`, if there is one. */
export interface Refused {
  readonly kind: "refused";
  readonly text: string;
  readonly request?: number;
  readonly page?: number;
  readonly number?: number;
}

export type ClientMessage =
  | Open
  | Close
  | Change
  | Save
  | Revert
  | ListVersions
  | ListFiles
  | DeleteDraft
  | KeepTabState
  | Run
  | Control
  | Snapshot
  | CompareRuns
  | Subscribe
  | Export
  | ReadSlice
  | ReadElements
  | ComputeStatistics
  | FindNonFinite
  | Explain
  | CheckGradient
  | Cancel;

export type ServerMessage =
  | Welcome
  | Opened
  | Changed
  | Journaled
  | Saved
  | SaveRefused
  | Versions
  | Files
  | Drafts
  | Checked
  | RunState
  | BlockStates
  | Summaries
  | Monitored
  | Runs
  | RunsCompared
  | ConsoleOutput
  | ElementTexts
  | Statistics
  | Progress
  | FoundNonFinite
  | Explained
  | GradientChecked
  | Exported
  | Refused;
