/** The words of the view in English. The other dictionaries have the same keys, or the type check fails. */

const number = new Intl.NumberFormat("en");
const moment = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

function count(many: number, one: string, more: string): string {
  return `${number.format(many)} ${many === 1 ? one : more}`;
}

export const viewEn = {
  // The shell
  toGallery: "Lessons and files",
  mainMenu: "Menu",
  menu: "What can be done here",
  pages: "Open pages",
  untitled: "Untitled page",
  notSavedYet: "Not saved yet",
  closePage: (title: string) => `Close ${title}`,
  running: "Running",
  waysToRun: "Ways to run",
  stepsToRun: "Steps to run",
  saved: "Saved",
  keeping: "Keeping draft…",
  draftKept: (seconds: number) =>
    seconds < 2
      ? "Draft kept just now"
      : seconds < 60
        ? `Draft kept ${seconds} s ago`
        : `Draft kept ${Math.floor(seconds / 60)} min ago`,
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
  fold: (panel: string) => `Fold ${panel} away`,
  palette: "Palette",
  outline: "Outline",
  properties: "Properties",
  docs: "Docs",
  problems: "Problems",
  monitors: "Monitors",
  keys: "Keys",
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
  stale: "old",
  view: "View",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  zoomOne: "Actual size",
  zoomAll: "Show everything",
  tidy: "Tidy the layout",
  spotlight: "Spotlight on the selection's wires",
  miniMap: "Mini-map",
  emptyPage: "An empty page",
  emptyPageHow:
    "Double click, or press / to add a block. Drop npy, npz or safetensors files to make constants.",
  dropHere: "Drop to open pages, or to make constants of arrays",
  valueHint: "value",
  nothingYet: "Nothing yet: run the page",
  unknownMonitor: (kind: string) => `Monitors of kind ${kind} cannot be shown here.`,
  newNote: "A **note**",
  noteText: "Text of the note, in Markdown",
  selectToWatch: "Select the block that the monitor is to show.",

  // Search
  findBlock: "Find a block to add",
  findCommand: "Find a command",
  findOnPage: "Find on this page",
  nothingFound: "Nothing found",
  thatTake: (block: string) => `Blocks that take what ${block} gives`,
  thatGive: (pin: string) => `Blocks that give what ${pin} takes`,
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
  fed: "Value when the page runs",
  wire: "Wire",
  from: "From",
  to: "To",
  carries: "Carries",
  insertBlock: "Insert a block…",
  removeWire: "Remove",
  note: "Note",
  frame: "Frame",
  blocks: "Blocks",
  noSuchBlock: (name: string) => `There is no block ${name}.`,
  monitor: "Monitor",
  kind: "Kind",
  monitorKinds: { number: "Number", trend: "Trend", image: "Image map", histogram: "Histogram" },
  limits: { low: "From", high: "To", steps: "Steps back" },
  found: "found from values",
  shows: "Shows",
  showMore: "Show one more…",
  selected: (many: number) => `${number.format(many)} selected`,
  howItRuns: "How it runs",
  wantedValues: "Wanted",
  targets: "Also run",
  steps: "Steps",
  until: "Until",
  anOutput: "an output",
  seed: "Seed",
  everyTime: "run every time",
  asABlock: "Used as a block",
  takes: "Takes",
  gives: "Gives",
  oneMoreInput: "One more input…",
  oneMoreOutput: "One more output…",
  makeBlock: "Make it a block",
  replaceBy: (block: string) => `in place of ${block}`,
  typeConstant: "Type a value",
  connect: "Connect…",
  connectFrom: (pin: string) => `Connect ${pin}…`,
  disconnect: (pin: string) => `Disconnect ${pin}`,
  clear: (what: string) => `Clear ${what}`,
  asBefore: (what: string) => `${what} as it is anyway`,
  watch: (pin: string) => `Monitor ${pin}`,
  wanted: "wanted",

  // Widgets
  elementType: "Element type",
  typeThatFits: "type that fits",
  shape: "Shape",
  scalar: "one number",
  asText: "As text",
  nestedLists: "Nested lists of numbers, rows of one length, such as [[1, 2], [3, 4]].",
  tooLarge: "A constant has 262,144 elements at most; use a file for more.",
  constantOf: (block: string, name: string) => `Constant ${name} of ${block}`,
  constantElsewhere: "This constant lies in a file beside the page.",
  fill: {
    zeros: "Zeros",
    ones: "Ones",
    ramp: "1, 2, 3…",
    "one-hot": "One-hot",
    random: "Random",
    ties: "Ties",
  },
  axis: (axis: number) => `axis ${axis}`,
  firstCells: (many: number) => `Only the first ${many} rows and columns are shown.`,
  before: "before",
  after: "after",
  wholeAtLeast: (least: number) => `A whole number from ${least} up.`,
  aNumber: "A number.",
  aWholeNumber: "A whole number.",
  aListOf: (kind: string) =>
    kind === "floats"
      ? "Numbers with commas between them."
      : kind === "dtypes"
        ? "Types with commas between them."
        : "Whole numbers with commas between them.",
  oneOf: (options: string) => `Use ${options}.`,
  numberOrList: "A number, or lists such as [1, 2].",
  cellRule: (dtype: string, limits?: readonly string[]) =>
    limits
      ? `A whole number of ${dtype}, from ${limits[0]} to ${limits[1]}.`
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
  counts: { one: "", optional: "may be left out", list: "a list", "mixed list": "a list of any types" },
  axesCount: (ranks: string) => `${ranks} axes`,

  // Results
  checking: "Checking…",
  noProblems: "No problems.",
  runForValues: "Run the page to see values.",
  more: (many: number) => `Show more of ${number.format(many)}`,
  printed: "Printed",
  nothingPrinted: "Nothing was printed in this run.",
  meanOf: (count: number) => `mean of ${number.format(count)}`,
  fileGone: (path: string) => `${path} is gone`,
  noMonitors: "No monitors. Select a block and press M to add one.",

  // A studio with a password
  lockedTitle: "This studio is locked",
  lockedAbout: "Open it by the address that it printed when it was started, or type its password.",
  startedAnew:
    "The studio was started anew and does not know this tab any more. Open the address that it printed in another tab of this browser: this one then goes on by itself, and nothing is lost.",
  typePassword: "Type its password",
  password: "Password",
  enter: "Enter",
  wrongPassword: "This is not the password.",

  // Gallery
  galleryTitle: "Tensor blocks you can see through",
  galleryLead: "Open a lesson: it runs by itself, and everything in it can be changed.",
  newPage: "New page",
  openFile: "Open a file",
  draftsFound: "Drafts that were never saved",
  lessons: "Lessons",
  filesIn: (folder: string) => `Pages in ${folder}`,
  noPageInside: (file: string) => `${file}: has no page inside. Files that the studio exports have one.`,
  isNoPage: (file: string) => `${file}: is no page, or a part of one. A page is JSON with its blocks.`,
  laterFormat: (file: string, format: number) =>
    `${file}: is a page of format ${format}. Install a later backblocks.`,
  arrayFaults: {
    other:
      "is no page and no array. Pages are json, png, svg and html files, arrays npy, npz and safetensors.",
    type: (type: string) => `has elements of type ${type}, which constants cannot have.`,
    large: (count: number, most: number) =>
      `has ${count} elements; a constant has ${most} at most. Take a part of it.`,
    manyBytes: (count: number) => `has ${count} bytes, too many for a constant.`,
    short: "ends too early.",
    noNpy: "is no npy file.",
    noZip: "is no npz file.",
    noNumbers: "has elements that are no plain numbers.",
    bigEndian: "has its bytes in big-endian order. Save it as little-endian.",
    broken: "is damaged, and cannot be read.",
  },

  // Dialogs
  close: "Close",
  cancel: "Cancel",
  add: "Add",
  make: "Make the page",
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
  themes: { system: "As the system", light: "Light", dark: "Dark", contrast: "High contrast" },
  wheel: "Wheel",
  wheels: { zoom: "zooms", pan: "pans; with Ctrl it zooms" },
  rerun: "Run again after a change when that is quick",
  aboutStudio: "About",
  aboutText: "TensorFlow's raw ops on NumPy arrays, as blocks. Nothing leaves this machine.",
  version: "Version",
  folder: "Folder",
  ops: "Ops",
  noFiles: "There are no pages in this folder yet.",
  versionsAbout:
    "What the file held before each save. Choosing one puts it into the page; that can be undone.",
  loading: "One moment…",
  noVersions: "There are no earlier versions.",
  blockCount: (many: number) => count(many, "block", "blocks"),
  pathInFolder: "File, below the folder",
  pathRule: "Type a name, or a path below the folder such as parts/mine.",
  saveRefused: {
    "changed outside": "The file was changed by something else",
    exists: "There is such a file already",
    failed: "The file could not be written",
  },
  saveElsewhere: "Save elsewhere…",
  takeTheirs: "Take the file's content",
  overwrite: "Overwrite it",
  filesAsked: "This page touches files",
  filesAskedAbout: "These blocks read or write files below the folder. Allow it for this run?",
  readsFiles: "reads files",
  writesFiles: "writes files",
  allow: "Allow and run",
  extractAbout: (many: number) =>
    `${count(many, "block becomes", "blocks become")} a page; one block stands in their place.`,
  gradientsOf: "Gradients of",
  withRespectTo: "with respect to:",
  nothingBefore: "It depends on nothing that can change a little.",
  exports: {
    png: "a picture with the page inside",
    svg: "a drawing with the page inside",
    python: "a script on backblocks.raw_ops, the same bits",
    tensorflow: "the same on tf.raw_ops",
    html: "to read anywhere, with values",
    json: "the page's file",
  },
  pageInside: (size: string, arrays: boolean) =>
    `Put the page inside pictures (${size}${arrays ? " and its arrays" : ""}), so that they can be opened again`,
  elementsIn: (name: string, many: number, file: string) =>
    `${name} (${many.toLocaleString("en")} elements in ${file})`,
  tooLargeInside: (which: string, most: number) =>
    `Too large to go inside: ${which}. All arrays inside have ${most.toLocaleString("en")} elements at most; in another folder the page needs these files beside it.`,
  unreadableInside: (which: string) =>
    `Not inside, since the files cannot be read: ${which}. Put them back, and export again.`,
  connectBlock: (block: string) => `Connect ${block}`,
  connectPin: (pin: string) => `Connect ${pin} to`,
  connectInput: (pin: string) => `Connect to ${pin}`,
  nothingFits: "Nothing on this page fits.",
  pinStates: { wired: "wired", constant: "has a value", open: "open", missing: "missing" },
};

/** The shape of a dictionary: the same keys, other words. */
type Words<T> = T extends string
  ? string
  : T extends (...given: infer Given) => string
    ? (...given: Given) => string
    : T extends readonly unknown[]
      ? T
      : { readonly [Key in keyof T]: Words<T[Key]> };

export type ViewWords = Words<typeof viewEn>;
