"""Messages between the browser and the server. TypeScript's types are generated from these classes.

A message is one JSON object with its kind under `kind`. Values of tensors go as binary frames: the length
of a header (u32, little-endian), the header (a `Slice` as JSON), zeros up to a multiple of 8, and the bytes.

A document is a page's file as JSON. Both sides change it by the same edits, on which undo, the journal and
the sync of tabs all rest.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

Int = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number from a tab: one of 64 bits, which is more than browsers have."""
ClientName = Annotated[str, Meta(max_length=64)]
"""Names a tab that has a page open, for as long as it has it open: see `clients.py`."""


class Edit(Struct, omit_defaults=True):
    """Sets `value` at `path` of the document; removes what is there if there is no value.

    A path has keys of objects and indices of lists. At a key that an object has, the value replaces the old
    one; a new key comes before the key `before`, or last. In a list a value is always inserted, at its index
    and before the items from there on.
    """

    path: list[str | Int]
    value: Any | UnsetType = UNSET
    before: str | UnsetType = UNSET


Comparison = Literal["difference", "relative", "ulp"]
"""How two outputs are compared: first minus second, that divided by the larger magnitude of the two, or how
many numbers of their type lie between them."""
NoSlope = Literal[
    "",
    "not finite",
    "non-finite result",
    "two slopes",
    "integers",
    "random op",
    "unknown input",
    "too large",
]
"""Why a finite difference gives no slope to compare a gradient with."""


# -- commands of the browser --------------------------------------------------------------------


class ClientMessage(Struct, tag_field="kind", omit_defaults=True):
    """Base of the commands of a tab. `page` is the number that `Opened` gave."""


class Open(ClientMessage, tag="open"):
    """Opens a page by its path below the folder, a copy of a lesson, a page without a file that is
    `unsaved`, or a new page if there is none of them.

    An `unsaved` page that was `untouched` has no journal: it starts again, as a copy of the lesson or empty.
    """

    request: Int
    path: str = ""
    lesson: str = ""
    unsaved: str = ""
    untouched: bool = False
    client: ClientName = ""
    pending: list[Int] = field(default_factory=list)
    """Numbers of this client's changes that were not acknowledged, after a lost connection."""


class Close(ClientMessage, tag="close"):
    page: Int


class Change(ClientMessage, tag="change"):
    """One step of editing. A client numbers its changes of a page; one that the page has is dropped."""

    page: Int
    client: ClientName
    number: Annotated[int, Meta(ge=1, le=2**53)]
    edits: list[Edit]
    label: str = ""


class Save(ClientMessage, tag="save"):
    """Writes the file; under a new name if there is a `path`.

    A file that something else has changed since is only written with `overwrite`.
    """

    page: Int
    path: str = ""
    overwrite: bool = False


class Revert(ClientMessage, tag="revert"):
    """Reverts the document to the file, or to a version of it, by edits that can be undone."""

    page: Int
    version: str = ""


class ListVersions(ClientMessage, tag="list versions"):
    page: Int


class ListFiles(ClientMessage, tag="list files"):
    """Lists the pages and arrays of the workspace, and the drafts; `Files` and `Drafts` answer."""


class DeleteDraft(ClientMessage, tag="delete draft"):
    """Deletes the journal of a page without a file that no tab has open."""

    name: str


class PageView(Struct, omit_defaults=True):
    """A page that a browser tab has open, as it can be opened again, and the part of it that is shown."""

    path: str = ""
    unsaved: str = ""
    lesson: str = ""
    untouched: bool = False
    viewport: list[float] | None = None
    """Offset x and y, and zoom."""


class TabState(Struct, omit_defaults=True):
    """The pages of a browser tab in their order, and which of them is active; -1 if none is."""

    pages: Annotated[list[PageView], Meta(max_length=1000)]
    active: Int = -1


class KeepTabState(ClientMessage, tag="keep tab state"):
    """Keeps what the tab has open, for when it is reloaded or the studio is started again."""

    state: TabState


class Run(ClientMessage, tag="run"):
    """Runs the page: once, so many steps, until its condition holds, or freely until told to stop.

    `to` are outputs to fetch and blocks to run; without them the page's run settings hold. Blocks that read
    or write files only run with `allow_files`.
    """

    page: Int
    mode: Literal["once", "steps", "until", "free"] = "once"
    steps: Int = 1
    to: list[str] = field(default_factory=list)
    allow_files: bool = False
    automatic: bool = False
    """Whether the tab repeats a run after an edit: of such runs in a row the last is kept."""


class Control(ClientMessage, tag="control"):
    """Controls a run. `reset` resets variables and the count of steps."""

    page: Int
    what: Literal["pause", "go on", "step", "stop", "reset"]


class Snapshot(ClientMessage, tag="snapshot"):
    """Keeps the variables as they are, as the snapshot of the run that gave them; or restores or deletes the
    snapshot of a `run`.
    """

    page: Int
    what: Literal["keep", "restore", "delete"]
    run: Int = 0


class CompareRuns(ClientMessage, tag="compare runs"):
    """Asks how the page changed between two runs; `RunsCompared` answers."""

    page: Int
    request: Int
    first: Int
    second: Int


class Subscribe(ClientMessage, tag="subscribe"):
    """Subscribes the tab to the summaries of these outputs, in place of those before."""

    page: Int
    pins: list[str]
    axes: dict[str, list[int]] = field(default_factory=dict)
    """The axes that are rows and columns of pictures, of outputs whose axes have names."""


class ReadSlice(ClientMessage, tag="read slice"):
    """Reads a slice of the last value of an output, which comes as a binary frame.

    `index` has for each axis an index or [start, stop, step]; axes it leaves out are whole. With `shades`
    [low, high] the slice is quantised to a byte for each element: 0 NaN, 1 minus infinity, 2 infinity,
    3 zero, 4 below low, 5 above high, 6 to 255 from low to high. With `against` it is the comparison with
    that output.
    """

    page: Int
    request: Int
    pin: str
    index: list[Int | list[Int]] = field(default_factory=list)
    shades: list[float] | None = None
    against: str = ""
    comparison: Comparison = "difference"


class ComputeStatistics(ClientMessage, tag="compute statistics"):
    """Computes statistics of an output, or of its comparison with another one; `Statistics` answers."""

    page: Int
    request: Int
    pin: str
    against: str = ""
    comparison: Comparison = "difference"


class FindNonFinite(ClientMessage, tag="find non-finite"):
    """Finds the next NaN or infinity of an output in row-major order, after the cell `after` if there is one,
    wrapping around at the end; `FoundNonFinite` answers.
    """

    page: Int
    request: Int
    pin: str
    after: list[Int] | None = None


class Explain(ClientMessage, tag="explain"):
    """Asks which cells of a block's tensors belong together, its access maps; `Explained` answers."""

    page: Int
    request: Int
    block: str


class CheckGradient(ClientMessage, tag="check gradient"):
    """Compares one cell of a gradient block's output with a finite difference; `GradientChecked` answers."""

    page: Int
    request: Int
    block: str
    cell: list[Int]


class Cancel(ClientMessage, tag="cancel"):
    """Cancels a request of this tab, which is then refused unless it was answered."""

    page: Int
    request: Int


class ReadElements(ClientMessage, tag="read elements"):
    """Reads elements `first` to `first + count` of an output as texts, in row-major order.

    With `python` the texts are Python's repr of the elements, which has every byte of strings.
    """

    page: Int
    request: Int
    pin: str
    first: Int = 0
    count: Int = 200
    python: bool = False


class Export(ClientMessage, tag="export"):
    """Exports the page as a script, or as a page with its arrays inline; `Exported` answers."""

    page: Int
    request: Int
    to: Literal["python", "tensorflow", "page"]


class ImportedArray(Struct):
    """An array of a file that was dropped on a page, as `/api/array` gives it."""

    name: str
    dtype: str
    shape: list[int]
    constant: Any = None
    """What the page writes for it; none if it is large, and somebody has to say whether they want a part."""


# -- messages of the server ----------------------------------------------------------------------


class ServerMessage(Struct, tag_field="kind", omit_defaults=True):
    """Base of the messages of the server."""


class Lesson(Struct):
    """A page that comes with backblocks."""

    name: str
    title: str
    about: str
    document: dict[str, Any]
    """The page, of which the gallery draws a small picture."""


class Unsaved(Struct, omit_defaults=True):
    """A page without a file that has a journal."""

    name: str
    since: float
    """When it was last changed, in seconds since 1970."""
    document: dict[str, Any]
    """The page without its long constants, of which the gallery draws a small picture."""
    lost: str = ""
    """Its file, if it had one that is gone."""


class Welcome(ServerMessage, tag="welcome"):
    """The first message. `session` is another one after the server has started anew."""

    session: str
    version: str
    folder: str
    lessons: list[Lesson]
    start: str = ""
    """The page that was asked for on the command line."""
    tab: TabState | None = None
    """What this tab had open before it was reloaded, or a tab that is gone."""


class Drafts(ServerMessage, tag="drafts"):
    """Pages without a file, or whose file is gone, that were changed; whether a tab has them open or not."""

    drafts: list[Unsaved]


class Opened(ServerMessage, tag="opened"):
    """A page is open. Its document has the draft in it, if one was found."""

    request: int
    page: int
    document: dict[str, Any]
    revision: int
    path: str = ""
    saved: dict[str, Any] | UnsetType | None = UNSET
    """The document that its file holds, or that a page without a file started from, if that is another one;
    None if the file is gone."""
    draft: Draft | None = None
    unsaved: str = ""
    """The name by which a page without a file can be opened again."""
    lesson: str = ""
    """The lesson that it is a copy of."""
    applied: list[int] = field(default_factory=list)
    """The numbers of the `pending` changes that the document has."""


class Draft(Struct, omit_defaults=True):
    """Changes that were never saved, found in the journal."""

    changes: int
    since: float
    """When the last of them was made, in seconds since 1970."""
    damage: Damage | None = None


class Damage(Struct, omit_defaults=True):
    """What was lost of a journal that the disk has damaged."""

    lines: int
    """Lines whose checksum is wrong, each a change."""
    unapplied: int
    """Changes that could be read but not made, because they build on one that is lost."""
    copy: str
    """The file that the whole journal was copied to before it went on without them."""


class Changed(ServerMessage, tag="changed"):
    """The document has changed, by this change of the client; of none if the server changed it.

    A change that came again is acknowledged without edits.
    """

    page: int
    revision: int
    edits: list[Edit]
    client: str = ""
    number: int = 0
    label: str = ""


class Journaled(ServerMessage, tag="journaled"):
    """All changes up to this revision are on the disk."""

    page: int
    revision: int


class Saved(ServerMessage, tag="saved"):
    page: int
    revision: int
    path: str


class SaveRefused(ServerMessage, tag="save refused"):
    """The file was changed by something else, or cannot be written."""

    page: int
    reason: Literal["changed outside", "exists", "failed"]
    text: str


class Version(Struct):
    name: str
    saved: float
    blocks: int


class Versions(ServerMessage, tag="versions"):
    page: int
    versions: list[Version]


class File(Struct, omit_defaults=True):
    path: str
    bytes: int
    changed: float
    draft: bool = False
    """Whether it is a page with changes that are not saved."""


class Files(ServerMessage, tag="files"):
    files: list[File]


class Spec(Struct, omit_defaults=True):
    """Element type and sizes of an output. An open size is a name: the same name is the same size."""

    dtype: str
    shape: list[int | str] | None = None
    """None if even the number of axes is open."""


class Fix(Struct, omit_defaults=True):
    """A change of a block that makes the broken rule hold, which the tab makes as one step of editing."""

    kind: Literal["set", "insert", "swap", "constant"]
    """set: gives attributes, or inputs that are constants, these `values`; insert: puts a block of `op`
    before an input, with `values` as its other inputs and attributes; swap: exchanges two inputs; constant:
    gives an input that is a constant the "shape" or "dtype" of `values`."""
    args: list[str]
    values: dict[str, Any] = field(default_factory=dict)
    op: str = ""
    like: str = ""
    """The block that has the same values already."""


class Problem(Struct, omit_defaults=True):
    """An error of the library: what is wrong, where, and what to do."""

    text: str
    block: str = ""
    arg: str = ""
    """The input or attribute."""
    axis: int | None = None
    hint: str = ""
    reason: Literal["", "not stopped", "killed", "crashed", "ended", "memory"] = ""
    """Why a run ended where the library does not say it, so that it can be said in other languages."""
    detail: str = ""
    """The signal or the exit code that belongs to it."""
    fixes: list[Fix] = field(default_factory=list)
    """What makes the rule hold, the best first."""


class Checked(ServerMessage, tag="checked"):
    """The result of a check of this revision: the types on its wires, and all that is wrong."""

    page: int
    revision: int
    pins: dict[str, Spec]
    """By "block:pin", or "block:pin[2]" of a list."""
    inputs: dict[str, list[str]]
    """For blocks whose pins the page decides (a page as a block): the names of their inputs."""
    problems: list[Problem]
    files: dict[str, str] = field(default_factory=dict)
    """Blocks that touch files, and whether each "reads" or "writes" them."""
    peak_bytes: int | None = None


State = Literal["idle", "starting", "running", "paused"]


class RunState(ServerMessage, tag="run state"):
    page: int
    state: State
    step: int = 0
    """Steps since variables were reset."""
    steps: int | None = None
    """The step that it is to end with, if that is known."""
    seconds: float = 0.0
    executed: int = 0
    cached: int = 0
    peak_bytes: int = 0
    problem: Problem | None = None
    """Why it ended, if it failed."""
    needs_files: dict[str, str] = field(default_factory=dict)
    """Set if the run waits for a yes: blocks that touch files."""
    stopped: bool = False
    """Whether the user ended it."""
    run: int = 0
    """The number of the run."""
    ran: int = 0
    """Once it is over, how many blocks have run."""
    of: int = 0
    """How many blocks were to run: those with problems count, and what needs them."""
    problems: int = 0
    """How many problems kept blocks from running."""


class BlockState(Struct, omit_defaults=True):
    block: str
    state: Literal["waiting", "running", "done", "cached", "failed", "skipped"]
    seconds: float = 0.0
    bytes: int = 0


class BlockStates(ServerMessage, tag="block states"):
    """States that changed since the last such message; at most 20 messages a second."""

    page: int
    revision: int
    blocks: list[BlockState]
    progress: float = 0.0


class Plane(Struct, omit_defaults=True):
    """Which cells of a tensor a picture shows."""

    at: list[int | None] = field(default_factory=list)
    """For each axis the index of the slice; None of one that is shown whole; empty if all are."""
    area: list[int] = field(default_factory=list)
    """Rows and columns of the tensor in one cell of the picture; none if each has a cell of its own."""
    sampled: bool = False
    """Whether a cell of the picture is the first of its area, and not the one farthest from zero."""


class Summary(Struct, omit_defaults=True):
    """The summary of an output's last value."""

    dtype: str
    shape: list[int]
    text: str
    """The value if it is short, else its first elements."""
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    deviation: float | None = None
    zeros: int = 0
    nans: int = 0
    infinities: int = 0
    picture: str = ""
    """A map of at most 32 x 32 bytes, as base64: 0 for NaN, 1 to 255 from low to high."""
    picture_shape: list[int] = field(default_factory=list)
    plane: Plane = field(default_factory=Plane)


class Summaries(ServerMessage, tag="summaries"):
    """Summaries of subscribed outputs after a step."""

    page: int
    revision: int
    step: int
    pins: dict[str, Summary]


class Curve(Struct, omit_defaults=True):
    """The output and element of one curve of a trend, or of one number."""

    shown: int
    """The index of the output in the monitor's `shows`."""
    element: list[int] = field(default_factory=list)
    """The index of the element, where the output has several."""
    mean_of: int = 0
    """The number of elements it is the mean of, where there are too many to tell apart; else 0."""


class Series(Struct, omit_defaults=True):
    """The data of a monitor: the newest values of each of its `shows`, in order."""

    steps: list[int] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    """For a number or a trend: one for each element that is shown."""
    values: list[list[float | None]] = field(default_factory=list)
    """For each of the curves its values at those steps."""
    picture: str = ""
    """For an image: float32 rows as base64."""
    picture_shape: list[int] = field(default_factory=list)
    plane: Plane = field(default_factory=Plane)
    counts: list[list[int]] = field(default_factory=list)
    """For a histogram: counts of each shown output between `edges`."""
    edges: list[float] = field(default_factory=list)
    whole: bool = False
    """Whether each bin of the histogram is around one integer."""
    problem: str = ""


class BlockCost(Struct, omit_defaults=True):
    """The mean time of a block in a step, and the bytes of its outputs."""

    block: str
    seconds: float = 0.0
    bytes: int = 0


class KeptVariables(Struct, omit_defaults=True):
    """A snapshot: the step and the bytes of its variables, and which of them are outputs on the page.

    Queries take the value of one by its output and the run, as "weights:ref@3".
    """

    step: int
    bytes: int
    pins: list[str] = field(default_factory=list)


class RunRecord(Struct, omit_defaults=True):
    """A run that is kept: what it was asked, how it ended, its curves and what each block took."""

    run: int
    mode: Literal["once", "steps", "until", "free"]
    started: float
    """In seconds since 1970."""
    steps: int = 1
    to: list[str] = field(default_factory=list)
    until: str = ""
    seed: int | None = None
    automatic: bool = False
    edited: bool = False
    """Whether the page was edited while it ran."""
    lineage: int = 0
    """Counts how often variables began anew: runs of the same lineage continue one another."""
    end: Literal["", "done", "incomplete", "failed", "stopped"] = ""
    """Empty while it runs; "incomplete" where problems kept blocks from running."""
    problem: Problem | None = None
    first_step: int = 0
    step: int = 0
    """The steps before it, and after it."""
    seconds: float = 0.0
    ran: int = 0
    of: int = 0
    problems: int = 0
    peak_bytes: int = 0
    curves: dict[str, Series] = field(default_factory=dict)
    """Of each trend and number, sampled."""
    timed_steps: int = 0
    """In how many of its steps the blocks were timed."""
    blocks: list[BlockCost] = field(default_factory=list)
    """In the order of the page."""
    snapshot: KeptVariables | None = None


class Runs(ServerMessage, tag="runs"):
    """The runs that are kept: the numbers of all, and those of them that are new or have changed."""

    page: int
    kept: list[int]
    changed: list[RunRecord] = field(default_factory=list)
    dropped: int = 0
    """How many older ones were dropped."""
    most_snapshots: int = 0


class RunsCompared(ServerMessage, tag="runs compared"):
    """What changed on the page between two runs, as `backblocks diff` says it."""

    request: int
    changes: list[str]


class Monitored(ServerMessage, tag="monitored"):
    page: int
    monitors: dict[str, Series]
    fresh: bool = False
    """Whether it replaces all earlier data: variables were reset."""


class LogLine(Struct):
    """A text that a block printed."""

    block: str
    text: str


class ConsoleOutput(ServerMessage, tag="console output"):
    """Log lines of blocks such as Print since the last such message, in order."""

    page: int
    lines: list[LogLine]


class Slice(Struct):
    """The header of a binary frame."""

    request: int
    pin: str
    dtype: str
    shape: list[int]
    step: int


class ElementTexts(ServerMessage, tag="element texts"):
    """Elements of a value as texts, answering `ReadElements`."""

    request: int
    pin: str
    dtype: str
    shape: list[int]
    first: int
    texts: list[str]


class Mismatch(Struct):
    """A cell where two outputs differ most: its index, and the elements of both as text."""

    cell: list[int]
    first: str
    second: str
    difference: str


class Statistics(ServerMessage, tag="statistics"):
    """Statistics of an output, or of the comparison of two. NaN and infinities are only counted."""

    request: int
    pin: str
    dtype: str
    shape: list[int]
    step: int
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    deviation: float | None = None
    first_percent: float | None = None
    last_percent: float | None = None
    """The 1st and the 99th percentile."""
    zeros: int = 0
    nans: int = 0
    infinities: int = 0
    counts: list[int] = field(default_factory=list)
    """A histogram: a bin for each integer from low to high if `whole`, else 64 from low to high."""
    whole: bool = False
    """Whether all elements are integers, of a range that has a bin for each."""
    sampled: bool = False
    """Whether they are those of a sample: the exact ones follow with the same `request`."""
    mismatches: int | None = None
    """How many elements of two outputs differ."""
    worst: list[Mismatch] = field(default_factory=list)


class Progress(ServerMessage, tag="progress"):
    """The progress of a request that takes long, from 0 to 1; sent every half second until its answer."""

    request: int
    part: float


class FoundNonFinite(ServerMessage, tag="found non-finite"):
    """The next NaN or infinity, and the first output upstream that has one."""

    request: int
    cell: list[int] | None
    first_pin: str = ""
    first_cell: list[int] = field(default_factory=list)


class Cells(Struct, omit_defaults=True):
    """The cell of a tensor at each point of the loops, one coordinate for each axis."""

    at: list[Coordinate]
    shape: list[int] | None = None
    """The sizes it is looked at with, in row-major order, if they are not its own."""


class Coordinate(Struct, omit_defaults=True):
    """An offset, steps by loop, and what another tensor or a table holds in a cell of its own, if any:
    the sum of all three.
    """

    offset: int = 0
    steps: dict[str, int] = field(default_factory=dict)
    held_by: str = ""
    held_at: list[Coordinate] = field(default_factory=list)


class Factor(Struct, omit_defaults=True):
    """Numbers that no tensor holds and that products have as a factor: which one, a coordinate says."""

    numbers: list[float]
    at: Coordinate = field(default_factory=Coordinate)


class AccessMap(Struct, omit_defaults=True):
    """A loop nest, and the cell of each tensor at each of its points. A point whose cell lies outside of a
    tensor is skipped. All cells of one point belong together.
    """

    rule: str
    """How the output comes from the points that lead to its cell (see backblocks.ops._access_maps)."""
    of: list[str]
    """The tensors that the rule takes, in its order."""
    loops: dict[str, int]
    """The size of each loop, the outermost first: "the first largest" goes by this order."""
    cells: dict[str, Cells]
    """The cell of each input or output by pin; "values[1]" of a list."""
    tables: dict[str, list[int]] = field(default_factory=dict)
    """Numbers that coordinates are held by, where no tensor has them."""
    inside: list[Cells] = field(default_factory=list)
    """Further cells, of no tensor, that must lie inside of their sizes for a point to be one."""
    factors: list[Factor] = field(default_factory=list)
    """Constant factors of each product of a sum."""
    codes: dict[str, list[str]] = field(default_factory=dict)
    """Tensors that hold codes of numbers, with those of the low and the high end of their range. A sum is
    one of numbers; all other rules go by the codes.
    """
    counts: list[int] = field(default_factory=list)
    """The axes of the rule's first tensor along which its places are counted, where they are the result."""
    cut: bool = False
    """Whether the result is truncated toward zero."""


class Tensor(Struct, omit_defaults=True):
    """A tensor of a block: the pin by which queries take it, its type and its shape."""

    pin: str
    dtype: str
    shape: list[int]
    constant: bool = False
    """Typed into the block or a Const, so that it can be edited."""


class Explained(ServerMessage, tag="explained"):
    request: int
    block: str
    op: str
    step: int
    tensors: dict[str, Tensor]
    """Inputs in their order, then outputs."""
    outputs: list[str]
    access_maps: list[AccessMap]
    forward: str = ""
    """The block of this page whose gradient this block is."""
    declared: bool = True
    """Whether its op declares access maps; if it does and has none here, no cells belong together."""


class GradientChecked(ServerMessage, tag="gradient checked"):
    """A gradient at a cell beside the slope that a finite difference gives there, all numbers as text."""

    request: int
    given: str
    slope: str = ""
    agrees: bool = False
    why: NoSlope = ""
    """Why there is no slope to compare with; empty where there is one."""
    below: str = ""
    """The slopes to both sides, where they are two."""
    above: str = ""
    about: list[str] = field(default_factory=list)
    """The op whose gradient it is; its input that is not known, or how many cells are too many."""


class OmittedArray(Struct, omit_defaults=True):
    """A constant of an exported page that stays in its npy file."""

    name: str
    """The block, or the placeholder it is fed to."""
    file: str
    elements: int = 0
    """Its size if that is too large; 0 if the file cannot be read."""


class Exported(ServerMessage, tag="exported"):
    request: int
    text: str
    omitted: list[OmittedArray] = field(default_factory=list)


class Refused(ServerMessage, tag="refused"):
    """A command was not carried out. The tab takes back the change of this `number`, if there is one."""

    text: str
    request: int = 0
    page: int = 0
    number: int = 0


Query = (
    ReadSlice | ReadElements | ComputeStatistics | FindNonFinite | Explain | CheckGradient | Cancel
)
"""Commands about values, which the process that runs the page answers."""
ClientMessages = (
    Open | Close | Change | Save | Revert | ListVersions | ListFiles
    | DeleteDraft | KeepTabState | Run | Control | Snapshot | CompareRuns | Subscribe | Export | Query
)  # fmt: skip
ServerMessages = (
    Welcome | Opened | Changed | Journaled | Saved | SaveRefused | Versions | Files | Drafts
    | Checked | RunState | BlockStates | Summaries | Monitored | Runs | RunsCompared | ConsoleOutput
    | ElementTexts
    | Statistics | Progress | FoundNonFinite | Explained | GradientChecked | Exported | Refused
)  # fmt: skip
