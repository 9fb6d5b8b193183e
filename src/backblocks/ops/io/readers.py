"""Readers: files taken apart into records, one work unit after the other.

A queue holds the names of files, the work units. A reader takes the next name when it has come to the end
of a file. It remembers how far it is, so the next run goes on from there.
"""

import os
import zlib
from collections.abc import Sequence
from typing import Annotated, Any, BinaryIO

import numpy as np

from backblocks.dtypes import BY_NAME
from backblocks.errors import OpError, OpMemoryError, described
from backblocks.ops import _files, _memory
from backblocks.ops._handles import State, declared, handle, state_in
from backblocks.ops._inputs import Array
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec, scalar_value
from backblocks.ops.attrs import Int, Text, choice
from backblocks.ops.data_flow.queues import Queue

Record = tuple[bytes, bytes]
WORK = "queue_handle"
"""Where names of files come from, for errors."""


class Reader(State):
    """How far a reader has come. What a file has to say is left to each kind of reader."""

    kind = "reader"

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.work: bytes | None = None
        self.position = self.number = self.produced = self.finished = 0

    def copy(self) -> "Reader":
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __repr__(self) -> str:
        now = "" if self.work is None else f", in {os.fsdecode(self.work)!r}"
        return f"<reader after {self.produced} records{now}>"

    def records(self, work: bytes, most: int) -> tuple[list[Record], bool]:
        """The next records of the file `work`, and whether that is at its end."""
        raise NotImplementedError

    def read(self, most: int, queue: Queue) -> list[Record]:
        """Up to `most` records; fewer at the end of a file."""
        found: list[Record] = []
        while len(found) < most:
            if self.work is None:
                ((names,),) = queue.take(1)
                if names.size != 1:
                    hint = "Put names in one by one."
                    raise OpError(
                        "must hold one name in each element", arg=WORK, got=names.shape, hint=hint
                    )
                self.work, self.position, self.number = names.item(), 0, 0
            more, at_end = self.records(self.work, most - len(found))
            found += more
            self.produced += len(more)
            if at_end:
                self.work = None
                self.finished += 1
                if found:
                    break
        return found


# -- kinds of reader ------------------------------------------------------------------------------


class FixedLengthRecords(Reader):
    """Records of one length. What is left at the end and too short for one is passed over."""

    def __init__(self, header: int, record: int, footer: int, hop: int, packed: bool) -> None:
        super().__init__()
        self.header, self.record, self.footer, self.packed = header, record, footer, packed
        self.hop = hop or record
        self.unpacked = b""

    def restart(self) -> None:
        super().restart()
        self.unpacked = b""

    def records(self, work: bytes, most: int) -> tuple[list[Record], bool]:
        with _files.open_for_reading(WORK, work) as file:
            if self.packed and not self.number:
                self.grow(-len(self.unpacked))
                self.unpacked = b""
                unpacked = _unpacked(file)
                self.grow(len(unpacked))
                self.unpacked = unpacked
            size = len(self.unpacked) if self.packed else _files.size_of(file)
            if not self.number:
                if self.header > size:
                    hint = "Use files that are at least as long as header_bytes."
                    raise OpError("must be longer than its header", arg=WORK, got=size, hint=hint)
                self.position = self.header
            room = size - self.footer - self.position - self.record
            count = max(0, min(most, room // self.hop + 1))
            span = self.record + (count - 1) * self.hop if count else 0
            if self.packed:
                data = self.unpacked[self.position : self.position + span]
            else:
                file.seek(self.position)
                data = _files.read(WORK, file, span)
        found = []
        for start in range(0, count * self.hop, self.hop):
            found.append((b"%b:%d" % (work, self.number), data[start : start + self.record]))
            self.number += 1
        self.position += count * self.hop
        return found, count < most


def _unpacked(file: BinaryIO) -> bytes:
    """What a file holds that was packed with zlib or gzip, if there is room for it."""
    unpack, parts, total = zlib.decompressobj(wbits=47), [], 0
    try:
        while packed := file.read(1 << 20):
            while packed:
                part = unpack.decompress(packed, 1 << 24)
                packed = unpack.unconsumed_tail
                parts.append(part)
                total += len(part)
                if not _memory.is_available(2 * total):
                    hint = "Unpack it, and read the file without encoding."
                    got = described(f"more than {total / 2**30:.1f} GiB")
                    raise OpMemoryError(
                        "must fit in memory when unpacked", arg=WORK, got=got, hint=hint
                    )
        parts.append(unpack.flush())
    except zlib.error as error:
        raise _broken(str(error)) from None
    if not unpack.eof:
        raise _broken("it ends too early")
    return b"".join(parts)


def _broken(why: str) -> OpError:
    hint = "Leave encoding out if the file is not packed."
    return OpError(
        "must name a file packed with zlib or gzip", arg=WORK, got=described(why), hint=hint
    )


class Lines(Reader):
    """Lines of text, without the end of the line."""

    def __init__(self, skipped: int) -> None:
        super().__init__()
        self.skipped = skipped

    def records(self, work: bytes, most: int) -> tuple[list[Record], bool]:
        found: list[Record] = []
        with _files.open_for_reading(WORK, work) as file:
            file.seek(self.position)
            for line in file:
                self.position += len(line)
                self.number += 1
                if self.number > self.skipped:
                    text = (
                        line.removesuffix(b"\n").removesuffix(b"\r") if line[-1:] == b"\n" else line
                    )
                    found.append((b"%b:%d" % (work, self.number), text))
                    if len(found) == most:
                        return found, False
        return found, True


class WholeFiles(Reader):
    """Every file is one record."""

    def records(self, work: bytes, most: int) -> tuple[list[Record], bool]:
        with _files.open_for_reading(WORK, work) as file:
            return [(work, _files.read(WORK, file, _files.size_of(file)))], True


class Names(Reader):
    """The names themselves are the records; no file is opened."""

    def records(self, work: bytes, most: int) -> tuple[list[Record], bool]:
        return [(work, work)], True


Encoding = Annotated[
    str, choice("How files are packed; empty if they are not.", "", "ZLIB", "GZIP")
]


def _not_negative(**sizes: int) -> None:
    for arg, size in sizes.items():
        if size < 0:
            raise OpError("must not be negative", arg=arg, got=size, hint="Use 0 or more.")


@op(
    "FixedLengthRecordReaderV2",
    "-> reader_handle: resource",
    holds=True,
    files="reads",
    stateful=True,
)
def fixed_length_record_reader_v2(
    *,
    header_bytes: Int = 0,
    record_bytes: Int,
    footer_bytes: Int = 0,
    hop_bytes: Int = 0,
    container: Text = "",
    shared_name: Text = "",
    encoding: Encoding = "",
) -> Array:
    """A reader of records of `record_bytes` bytes each.

    The first `header_bytes` and the last `footer_bytes` of a file are no records. A record begins
    `hop_bytes` after the one before, or right behind it if that is 0.
    """
    reader = FixedLengthRecords(header_bytes, record_bytes, footer_bytes, hop_bytes, bool(encoding))
    return handle(reader)


@fixed_length_record_reader_v2.shape
def _(
    *, header_bytes: int, record_bytes: int, footer_bytes: int, hop_bytes: int, **rest: Any
) -> Shape:
    _not_negative(header_bytes=header_bytes, footer_bytes=footer_bytes, hop_bytes=hop_bytes)
    if record_bytes < 1:
        hint = "Say how long a record is."
        raise OpError("must be at least 1", arg="record_bytes", got=record_bytes, hint=hint)
    return ()


fixed_length_record_reader_v2.fails("records of no bytes", record_bytes=0, error="at least 1")
fixed_length_record_reader_v2.fails(
    "a negative header", record_bytes=1, header_bytes=-1, error="not be negative"
)
fixed_length_record_reader_v2.fails(
    "a packing that is not known", record_bytes=1, encoding="LZ4", error="ZLIB or GZIP"
)
fixed_length_record_reader_v2.differs(
    "records of no bytes",
    tensorflow="Gives empty records and never comes to the end of a file.",
    ours="Refuses `record_bytes=0`.",
)
fixed_length_record_reader_v2.differs(
    "unknown encodings",
    tensorflow="Takes any other word for no encoding.",
    ours='Refuses all but "", "ZLIB" and "GZIP".',
)


@op("TextLineReaderV2", "-> reader_handle: resource", holds=True, files="reads", stateful=True)
def text_line_reader_v2(
    *, skip_header_lines: Int = 0, container: Text = "", shared_name: Text = ""
) -> Array:
    """A reader of lines of text; the first `skip_header_lines` of every file are left out."""
    return handle(Lines(skip_header_lines))


@text_line_reader_v2.shape
def _(*, skip_header_lines: int, **rest: Any) -> Shape:
    _not_negative(skip_header_lines=skip_header_lines)
    return ()


text_line_reader_v2.fails("less than none", skip_header_lines=-1, error="not be negative")


@op("WholeFileReaderV2", "-> reader_handle: resource", holds=True, files="reads", stateful=True)
def whole_file_reader_v2(*, container: Text = "", shared_name: Text = "") -> Array:
    """A reader for which every file is one record; the key is its name."""
    return handle(WholeFiles())


@op("IdentityReaderV2", "-> reader_handle: resource", holds=True, stateful=True)
def identity_reader_v2(*, container: Text = "", shared_name: Text = "") -> Array:
    """A reader for which the names in the queue are the records; no file is opened."""
    return handle(Names())


for _each in (whole_file_reader_v2, identity_reader_v2):
    _each.shape(lambda **attrs: ())

for _each, _attrs, _key, _value in (
    (fixed_length_record_reader_v2, "record_bytes=4", "a.txt:0", "one\\n"),
    (text_line_reader_v2, "", "a.txt:1", "one"),
    (whole_file_reader_v2, "", "a.txt", "one\\ntwo\\n"),
    (identity_reader_v2, "", "a.txt", "a.txt"),
):
    _each.in_use(
        "It gives a handle, which shows in what ReaderReadV2 reads of the files named in a queue.",
        rf"""
        >>> bb.ops.write_file("a.txt", "one\ntwo\n")
        >>> names = bb.ops.fifo_queue_v2(component_types=["string"])
        >>> bb.ops.queue_enqueue_v2(names, ["a.txt"])
        >>> reader = bb.ops.{_each.snake_name}({_attrs})
        >>> key, value = bb.ops.reader_read_v2(reader, names)
        >>> key, value
        (array(b'{_key}', dtype=object), array(b'{_value}', dtype=object))
        """,
    )


# -- reading --------------------------------------------------------------------------------------


def _check_handles(reader: Spec, queue: Spec) -> None:
    declared("reader_handle", reader, Reader)
    names = declared("queue_handle", queue, Queue)
    if names is not None and names.types != (BY_NAME["string"],):
        raise OpError(
            "must be a queue of names: one string in each element",
            arg="queue_handle",
            got=described(repr(names)),
            hint='Make it with component_types=["string"].',
        )


def _column(cells: Sequence[bytes]) -> Array:
    column = np.empty(len(cells), object)
    column[:] = cells
    return column


_BOTH = ("reader_handle", "queue_handle")


@op("ReaderReadV2", "resource, resource -> key: string, value: string", writes=_BOTH, stateful=True)
def reader_read_v2(reader_handle: Array, queue_handle: Array) -> tuple[Array, Array]:
    """The next record and its key, which tells file and place.

    When the reader is at the end of a file, it takes the next name out of the queue.
    """
    ((key, value),) = state_in(reader_handle).read(1, state_in(queue_handle))
    return np.array(key, object), np.array(value, object)


@reader_read_v2.shape
def _(reader_handle: Spec, queue_handle: Spec) -> tuple[Shape, Shape]:
    _check_handles(reader_handle, queue_handle)
    return (), ()


@op(
    "ReaderReadUpToV2",
    "resource, resource, int64 -> keys: string, values: string",
    writes=_BOTH,
    stateful=True,
    data_dependent_shape=True,
)
def reader_read_up_to_v2(
    reader_handle: Array, queue_handle: Array, num_records: Array
) -> tuple[Array, Array]:
    """The next `num_records` records and their keys; fewer where a file ends."""
    found = state_in(reader_handle).read(num_records.item(), state_in(queue_handle))
    return _column([key for key, _ in found]), _column([value for _, value in found])


@reader_read_up_to_v2.shape
def _(reader_handle: Spec, queue_handle: Spec, num_records: Spec) -> tuple[Shape, Shape]:
    _check_handles(reader_handle, queue_handle)
    count = scalar_value("num_records", num_records)
    if count is not None:
        _not_negative(num_records=count)
    return (None,), (None,)


def _names(*names: bytes, closed: bool = False) -> Array:
    queue = Queue([BY_NAME["string"]], [], -1)
    queue.put([(np.array(name, object),) for name in names], len(names), 0)
    queue.closed = closed
    return handle(queue)


_IDENTITY = handle(Names())
reader_read_v2.case(
    "the next name",
    reader_handle=_IDENTITY,
    queue_handle=_names(b"a", b"b"),
    out=(np.array(b"a", object), np.array(b"a", object)),
    leaves={
        "reader_handle": "<reader after 1 records>",
        "queue_handle": "<queue of string: b'b'>",
    },
)
reader_read_up_to_v2.case(
    "a file ends after its one record",
    reader_handle=_IDENTITY,
    queue_handle=_names(b"a", b"b"),
    num_records=2,
    out=(np.array([b"a"], object), np.array([b"a"], object)),
    leaves={
        "reader_handle": "<reader after 1 records>",
        "queue_handle": "<queue of string: b'b'>",
    },
)
reader_read_up_to_v2.case(
    "none",
    reader_handle=_IDENTITY,
    queue_handle=_names(),
    num_records=0,
    out=(np.zeros(0, object), np.zeros(0, object)),
)
reader_read_v2.fails(
    "no names left", reader_handle=_IDENTITY, queue_handle=_names(), error="at least 1 element"
)
reader_read_v2.fails(
    "a queue of numbers",
    reader_handle=_IDENTITY,
    queue_handle=handle(Queue([BY_NAME["int32"]], [], -1)),
    error="a queue of names",
)
reader_read_v2.fails(
    "a queue for a reader",
    reader_handle=_names(),
    queue_handle=_names(),
    error="the handle of a reader",
)
reader_read_up_to_v2.fails(
    "less than none: ends the process in TensorFlow",
    reader_handle=_IDENTITY,
    queue_handle=_names(),
    num_records=-1,
    error="not be negative",
)
reader_read_up_to_v2.fails(
    "a file that is not there",
    reader_handle=handle(WholeFiles()),
    queue_handle=_names(b"no/such/file"),
    num_records=1,
    error="No such file",
)
for _each in (reader_read_v2, reader_read_up_to_v2):
    _each.differs(
        "waiting",
        tensorflow="Waits for a name in the queue, for ever if nobody puts one in.",
        ours="Refuses the call and says why. In a run, blocks that put names in come first.",
    )


# -- asking and starting again --------------------------------------------------------------------


@op("ReaderNumRecordsProducedV2", "resource -> records_produced: int64", stateful=True)
def reader_num_records_produced_v2(reader_handle: Array) -> int:
    """How many records a reader has given."""
    return int(state_in(reader_handle).produced)


@op("ReaderNumWorkUnitsCompletedV2", "resource -> units_completed: int64", stateful=True)
def reader_num_work_units_completed_v2(reader_handle: Array) -> int:
    """How many files a reader has read to the end."""
    return int(state_in(reader_handle).finished)


@op("ReaderResetV2", "resource ->", writes=("reader_handle",), stateful=True)
def reader_reset_v2(reader_handle: Array) -> None:
    """Has a reader begin again: with no file, and nothing counted."""
    state_in(reader_handle).restart()


def _one_reader(reader_handle: Spec) -> Shape:
    declared("reader_handle", reader_handle, Reader)
    return ()


def _after_one() -> Array:
    reader = Names()
    reader.read(1, state_in(_names(b"a")))
    return handle(reader)


for _ask in (reader_num_records_produced_v2, reader_num_work_units_completed_v2):
    _ask.shape(_one_reader)
    _ask.case("one", reader_handle=_after_one(), out=np.array(1))
    _ask.case("none", reader_handle=_IDENTITY, out=np.array(0))
    _ask.fails("a queue", reader_handle=_names(), error="the handle of a reader")


@reader_reset_v2.shape
def _(reader_handle: Spec) -> None:
    declared("reader_handle", reader_handle, Reader)


reader_reset_v2.case(
    "after one",
    reader_handle=_after_one(),
    out=(),
    leaves={"reader_handle": "<reader after 0 records>"},
)
reader_reset_v2.fails("a queue", reader_handle=_names(), error="the handle of a reader")

for _each in (
    *(fixed_length_record_reader_v2, text_line_reader_v2, whole_file_reader_v2),
    *(identity_reader_v2, reader_read_v2, reader_read_up_to_v2, reader_reset_v2),
    *(reader_num_records_produced_v2, reader_num_work_units_completed_v2),
):
    _each.grad(zero_gradient)
