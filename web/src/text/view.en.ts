/** English: the shell, panels and dialogs. Other languages have the same keys, or the type check fails. */

import { ageText } from "./age.ts";
import type { Translation } from "./translation.ts";

const number = new Intl.NumberFormat("en");
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const moment = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

function count(many: number, one: string, more: string): string {
  return `${number.format(many)} ${many === 1 ? one : more}`;
}

export const viewEn = {
  // The shell
  toGallery: "Lessons, drafts and files",
  mainMenu: "Menu",
  contextMenu: "Context menu",
  pages: "Open pages",
  untitled: "Untitled page",
  notSavedYet: "Not saved yet",
  closePage: (title: string) => `Close ${title}`,
  running: "Running",
  trendOf: (names: string) => `Trend of ${names}. Arrow keys move along its steps.`,
  resetTitle: "Reset the variables?",
  resetAbout: (step: number) =>
    `Variables get their initial values again, and what ${count(step, "step", "steps")} computed is gone. This cannot be undone.`,
  reset: "Reset",
  runOptions: "Run options",
  stepsToRun: "Steps to run",
  saved: "Saved",
  savingDraft: "Saving draft…",
  draftSaved: (seconds: number) =>
    seconds < 2
      ? "Draft saved just now"
      : seconds < 60
        ? `Draft saved ${seconds} s ago`
        : `Draft saved ${Math.floor(seconds / 60)} min ago`,
  failed: "Failed",
  finished: "Done",
  stopped: "Cancelled",
  runStates: { idle: "Ready", starting: "Starting", running: "Running", paused: "Paused" },
  atStep: (step: number, of: number | null) =>
    of === null ? `step ${number.format(step)}` : `step ${number.format(step)} of ${number.format(of)}`,
  executed: (ran: number, cached: number) => `${number.format(ran)} run, ${number.format(cached)} cached`,
  problemCount: (many: number) => count(many, "problem", "problems"),
  leftPanel: "Blocks",
  rightPanel: "Selection",
  bottomPanel: "Results",
  sizeOf: (panel: string) => `Size of ${panel}`,
  collapse: (panel: string) => `Collapse ${panel}`,
  palette: "Palette",
  outline: "Outline",
  properties: "Properties",
  docs: "Docs",
  problems: "Problems",
  monitors: "Monitors",
  keys: "Shortcuts",
  dismiss: "Dismiss",
  connections: { connecting: "Connecting…", open: "Connected", lost: "Connection lost, trying again…" },
  counted: (blocks: number, wires: number) =>
    `${count(blocks, "block", "blocks")}, ${count(wires, "wire", "wires")}`,
  draftFound: (changes: number, since: Date) =>
    `${count(changes, "change", "changes")} from ${moment.format(since)} had not been saved and ${changes === 1 ? "is" : "are"} in this page.`,
  draftDamaged: (lines: number, unapplied: number, copy: string) =>
    `The journal of this page is damaged: ${count(lines, "line", "lines")} could not be read${
      unapplied > 0 ? `, and ${count(unapplied, "change", "changes")} could not be made without` : ""
    }. The other changes are in this page. The whole journal was copied to ${copy}.`,
  keepDraft: "Keep",
  discardDraft: "Discard",
  when: (at: Date) => moment.format(at),
  age: (at: Date) => ageText(relative, at),

  // The canvas
  canvas: "canvas of blocks",
  canvasOf: (title: string, blocks: number) =>
    `${title || "Untitled page"}, ${count(blocks, "block", "blocks")}. Arrow keys follow wires, C connects, slash adds a block, question mark lists all keys.`,
  blockNamed: (name: string, op: string) => `${name}, ${op}`,
  stateOf: (block: string) => `State of ${block}`,
  states: {
    waiting: "waiting",
    running: "running",
    done: "done",
    cached: "cached",
    failed: "failed",
    skipped: "skipped",
  } as Record<string, string>,
  notRunYet: "not run yet",
  stale: "stale",
  view: "View",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  zoomOne: "Actual size",
  zoomAll: "Zoom to fit",
  tidy: "Tidy layout",
  spotlight: "Highlight wires of the selection",
  miniMap: "Minimap",
  emptyPage: "An empty page",
  emptyPageHow:
    "Double click, or press / to add a block. Drop npy, npz or safetensors files to make constants.",
  dropHere: "Drop to open pages, or to make constants of arrays",
  valueHint: "value",
  areaShort: (area: string, sampled: boolean) => (sampled ? `1 of ${area}` : `max |${area}|`),
  areaOfCells: (area: string, sampled: boolean) =>
    sampled
      ? `Each cell of the picture is the first of ${area} until all were read.`
      : `Each cell of the picture is the number farthest from zero of ${area}.`,
  standsIn: "Stands",
  onPage: "On the page",
  inPanel: "In the panel",
  nothingYet: "No data yet: run the page",
  unknownMonitor: (kind: string) => `This studio has no monitor of kind ${kind}.`,
  newNote: "A **note**",
  noteText: "Text of the note, in Markdown",
  selectToMonitor: "Select the block that the monitor is to show.",

  // Search
  findBlock: "Find a block to add",
  findCommand: "Find a command",
  findOnPage: "Find on this page",
  nothingFound: "Nothing found",
  thatTake: (block: string) => `Blocks that accept the output of ${block}`,
  thatGive: (pin: string) => `Blocks whose output fits ${pin}`,
  onWire: (wire: string) => `On the wire to ${wire}`,
  groupName: (_group: string, title: string) => title,

  // Properties
  noPage: "Nothing is selected.",
  page: "Page",
  title: "Title",
  about: "About",
  name: "Name",
  inputs: "Inputs",
  outputs: "Outputs",
  attributes: "Attributes",
  feedValue: "Feed value",
  wire: "Wire",
  from: "From",
  to: "To",
  carries: "Type and shape",
  insertBlock: "Insert a block…",
  removeWire: "Remove",
  note: "Note",
  frame: "Frame",
  blocks: "Blocks",
  noSuchBlock: (name: string) => `There is no block ${name}.`,
  monitor: "Monitor",
  kind: "Kind",
  monitorKinds: { number: "Number", trend: "Trend", image: "Heatmap", histogram: "Histogram" },
  limits: { low: "Minimum", high: "Maximum", steps: "Steps shown" },
  automatic: "automatic",
  shows: "Shows",
  showMore: "Add an output…",
  selected: (many: number) => `${number.format(many)} selected`,
  runSettings: "Run settings",
  fetches: "Fetch",
  targets: "Always run",
  steps: "Steps",
  until: "Until",
  anOutput: "an output",
  seed: "Seed",
  alwaysRun: "Always run",
  pagePorts: "Page ports",
  portInputs: "Inputs",
  portOutputs: "Outputs",
  addInput: "Add an input…",
  addOutput: "Add an output…",
  makeBlock: "Convert to block",
  replaceBy: (block: string) => `replaces ${block}`,
  typeConstant: "Type a value",
  connect: "Connect…",
  connectFrom: (pin: string) => `Connect ${pin}…`,
  disconnect: (pin: string) => `Disconnect ${pin}`,
  clear: (what: string) => `Clear ${what}`,
  resetToDefault: (what: string) => `Reset ${what} to its default`,
  addMonitor: (pin: string) => `Monitor ${pin}`,
  fetchOutput: "Fetch this output",

  // Widgets
  elementType: "Element type",
  inferredType: "inferred type",
  shape: "Shape",
  scalar: "scalar",
  asText: "As text",
  nestedLists: "Nested lists of numbers, rows of one length, such as [[1, 2], [3, 4]].",
  tooLarge: "A constant has 262,144 elements at most; use a file for more.",
  constantOf: (block: string, name: string) => `Constant ${name} of ${block}`,
  constantInFile: "This constant is stored in a file beside the page.",
  fill: {
    zeros: "Zeros",
    ones: "Ones",
    ramp: "1, 2, 3…",
    "one-hot": "One-hot",
    random: "Random",
    ties: "Ties",
  },
  axis: (axis: number) => `axis ${axis}`,
  gridTruncated: (many: number) => `Only the first ${many} rows and columns are shown.`,
  before: "before",
  after: "after",
  wholeAtLeast: (least: number) => `An integer of at least ${least}.`,
  aNumber: "A number.",
  aWholeNumber: "An integer.",
  aListOf: (kind: string) =>
    kind === "floats"
      ? "Numbers with commas between them."
      : kind === "dtypes"
        ? "Types with commas between them."
        : "Integers, such as 1x4x4, (1, 4, 4) or 1 4 4.",
  oneOf: (options: string) => `Use ${options}.`,
  numberOrList: "A number, or lists such as [1, 2].",
  cellRule: (dtype: string, limits?: readonly string[]) =>
    limits
      ? `An integer of ${dtype}, from ${limits[0]} to ${limits[1]}.`
      : dtype === ""
        ? "A number, true or false."
        : dtype === "bool"
          ? "true or false."
          : dtype.startsWith("complex")
            ? `A number of ${dtype}, such as 1-2j.`
            : `A number of ${dtype}, inf or nan.`,
  pasteRagged: (first: number, row: number, has: number) =>
    `Nothing was pasted: rows must have as many cells as the first, which has ${first}; row ${row} has ${has}.`,
  pasteWrong: (row: number, column: number, text: string, rule: string) =>
    `Nothing was pasted: row ${row}, column ${column} is "${text}". It must be ${rule.charAt(0).toLowerCase()}${rule.slice(1)}`,
  pasteOutside: (rows: number, columns: number) =>
    `Nothing was pasted: ${rows} x ${columns} cells do not fit from this cell on. Begin further up or left, or make the constant larger.`,

  // Documentation
  selectForDocs: "Select a block to read about it.",
  otherwise: "By default",
  differences: "Differences from TensorFlow",
  workedCases: "Worked cases",
  openAsPage: "Open as a page",
  counts: { one: "", optional: "optional", list: "a list", "mixed list": "a list of any types" },
  axesCount: (ranks: string) => `${ranks} axes`,

  // Results
  checking: "Checking…",
  noProblems: "No problems.",
  fixes: {
    set: (values: string) => `Set ${values}`,
    match: (block: string, values: string) => `Match ${block}: ${values}`,
    insert: (op: string, pin: string, values: string) => `Insert ${op} before ${pin} (${values})`,
    swap: (one: string, other: string) => `Swap ${one} and ${other}`,
    shape: (name: string, shape: string) => `Resize ${name} to ${shape}`,
    dtype: (name: string, dtype: string) => `Make ${name} ${dtype}`,
    outdated: "The page has changed since, and this fix is not one of it any more.",
    choose: "Fixes",
  },
  linkedTo: (block: string) => `Linked to ${block}`,
  linkedAbout: "It follows that block until it is changed here.",
  runForValues: "Run the page to see values.",
  more: (many: number) => `Show more of ${number.format(many)}`,
  console: "Console",
  consoleEmpty: "Nothing was printed in this run.",
  meanOf: (count: number) => `mean of ${number.format(count)}`,
  fileGone: (path: string) => `${path} is missing`,
  noMonitors: "No monitors. Select a block and press M to add one.",

  // A studio with a password
  loginTitle: "This studio is locked",
  loginAbout: "Open it by the address that it printed when it was started, or type its password.",
  sessionExpired:
    "The studio was restarted, and the session of this tab has expired. Open the address that it printed in another tab of this browser: this tab then reconnects, and nothing is lost.",
  addressAbout:
    "Open it by the address that it printed in its terminal when it was started. Each start has a new one.",
  addressLooks: "It looks like this, with a token that works once:",
  addressLost:
    "If it is out of reach, or was used already, end the studio and start it again: backblocks studio. Nothing is lost by that.",
  typePassword: "Type its password",
  password: "Password",
  enter: "Sign in",
  wrongPassword: "This is not the password.",

  // Gallery
  galleryTitle: "Tensor blocks you can see through",
  galleryLead: "Open a lesson: it runs by itself, and everything in it can be changed.",
  newPage: "New page",
  openFile: "Open a file",
  draftsFound: "Drafts, not saved to a file",
  deleteDraft: (title: string) => `Delete the draft ${title}`,
  deleteDraftAbout: "No file has this page: once deleted, it cannot be had back.",
  deleteIt: "Delete",
  unsavedChanges: "has unsaved changes",
  lessons: "Lessons",
  filesIn: (folder: string) => `Pages in ${folder}`,
  noPageInside: (file: string) => `${file}: contains no page. Files that the studio exports do.`,
  notAPage: (file: string) => `${file}: is not a page. A page is a JSON object with blocks.`,
  newerFormat: (file: string, format: number) =>
    `${file}: is a page of format ${format}. Install a newer backblocks.`,
  reading: (file: string) => `Reading ${file}…`,
  notRead: (file: string) => `${file}: could not be sent to the studio. Drop it again.`,
  importTitle: (file: string) => `Add the arrays of ${file}`,
  importAbout:
    "Large arrays are kept in a file beside the page. Take all of each, or write the part that you want as in NumPy, such as 0:10, :, 3.",
  importPart: (name: string) => `Part of ${name}`,
  importElements: (count: number) => `${number.format(count)} elements`,
  importTake: "Add",

  // Dialogs
  close: "Close",
  cancel: "Cancel",
  add: "Add",
  make: "Create page",
  onCanvas: "On the canvas",
  canvasKeys: [
    ["← →", "Follow wires"],
    ["↑ ↓", "Next block above or below"],
    ["Ctrl + arrows", "Move the selection, bend a wire"],
    ["Ctrl + Shift + arrows", "Resize a frame, note or monitor"],
    ["Shift + ↑ ↓, Ctrl + Space", "Select several in the outline"],
    ["Enter", "Edit the block"],
    ["Space + drag", "Pan"],
    ["Alt + drag", "Cut wires"],
  ] as readonly (readonly [string, string])[],
  commandGroups: {
    edit: "Edit",
    select: "Select",
    arrange: "Arrange",
    run: "Run",
    page: "Pages",
    view: "View",
  },
  settings: "Settings",
  language: "Language",
  theme: "Theme",
  themes: { system: "System", light: "Light", dark: "Dark", contrast: "High contrast" },
  wheel: "Mouse wheel",
  wheels: { zoom: "zooms", pan: "pans; with Ctrl it zooms" },
  rerun: "Rerun after a change if the last run was quick",
  aboutStudio: "About",
  aboutText: "TensorFlow's raw ops on NumPy arrays, as blocks. Nothing leaves this machine.",
  version: "Version",
  folder: "Folder",
  ops: "Ops",
  noFiles: "There are no pages in this folder yet.",
  versionsAbout:
    "What the file held before each save. Choosing one puts it into the page; that can be undone.",
  loading: "Loading…",
  noVersions: "There are no earlier versions.",
  blockCount: (many: number) => count(many, "block", "blocks"),
  pathInFolder: "File, below the folder",
  pathRule: "Type a name, or a path below the folder such as parts/mine.",
  saveRefused: {
    "changed outside": "The file was changed by another program",
    exists: "A file of this name exists",
    failed: "The file could not be written",
  },
  saveElsewhere: "Save as…",
  reloadFromFile: "Reload from file",
  overwrite: "Overwrite",
  filePermissionTitle: "This page accesses files",
  filePermissionAbout: "These blocks read or write files below the folder. Allow it for this run?",
  readsFiles: "reads files",
  writesFiles: "writes files",
  allow: "Allow and run",
  extractAbout: (many: number) =>
    `${count(many, "block becomes", "blocks become")} a page, and one block replaces them.`,
  gradientsOf: "Gradients of",
  withRespectTo: "with respect to:",
  nothingDifferentiable: "It depends on nothing differentiable.",
  exports: {
    png: "an image with the page embedded",
    svg: "a drawing with the page embedded",
    python: "a script on backblocks.raw_ops, the same bits",
    tensorflow: "the same on tf.raw_ops",
    html: "a document with values and the page embedded",
    json: "the page's file",
  },
  pageInside: (size: string, arrays: boolean) =>
    `Embed the page in images (${size}${arrays ? " and its arrays" : ""}), so that they open as pages`,
  elementsIn: (name: string, many: number, file: string) =>
    `${name} (${many.toLocaleString("en")} elements in ${file})`,
  tooLargeInside: (which: string, most: number) =>
    `Too large to embed: ${which}. All embedded arrays have ${most.toLocaleString("en")} elements at most; in another folder the page needs these files beside it.`,
  unreadableInside: (which: string) =>
    `Not embedded, since the files cannot be read: ${which}. Put them back, and export again.`,
  connectBlock: (block: string) => `Connect ${block}`,
  connectPin: (pin: string) => `Connect ${pin} to`,
  connectInput: (pin: string) => `Connect to ${pin}`,
  addFitting: "Add a block that fits…",
  pinStates: { wired: "wired", constant: "constant", open: "open", missing: "missing" },
};

export type ViewStrings = Translation<typeof viewEn>;
