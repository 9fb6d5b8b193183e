"""A process of the pool: checks, exports and saves pages and reads arrays, so that the server need not.

One task at a time is read from the socket, done and answered.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO

from backblocks.errors import OpError
from backblocks.studio import pipe
from backblocks.studio.checking import checked, peak_bytes
from backblocks.studio.messages import OmittedArray
from backblocks.studio.processes import OUT_OF_MEMORY, begin

_LATE = 5
"""Seconds after its limit that a task ends its process itself, if there is no server to end it."""


def _do(task: pipe.Tasks) -> Any:
    """What checks do not need is imported by the tasks that do: the first check is waited for."""
    match task:
        case pipe.CheckPage():
            return checked(task.page, task.revision, task.document, Path(task.path))
        case pipe.EstimateMemory():
            return peak_bytes(task.document, Path(task.path))
        case pipe.ExportPage():
            return _exported(task)
        case pipe.ReadArrays():
            from backblocks.studio.arrays import constants

            return constants(Path(task.file), task.title, Path(task.path))
        case pipe.WriteArrays():
            return _written(task)


def _exported(task: pipe.ExportPage) -> tuple[str, list[OmittedArray]]:
    from backblocks.pages.export import to_python, to_tensorflow
    from backblocks.pages.inline_arrays import inline_arrays
    from backblocks.studio.job import page_of

    if task.to == "page":
        text, omitted = inline_arrays(task.document, Path(task.path))
        return text, [OmittedArray(*each) for each in omitted]
    page = page_of(task.document, Path(task.path))
    return to_python(page) if task.to == "python" else to_tensorflow(page), []


def _written(task: pipe.WriteArrays) -> bytes:
    from backblocks._durable import make_folder
    from backblocks.pages.dataclass_json import from_json
    from backblocks.pages.migrations import upgrade_to_current
    from backblocks.pages.model import PageFile
    from backblocks.pages.saving import store_arrays

    page = from_json(PageFile, upgrade_to_current(task.document))
    page.path, target = Path(task.path), Path(task.target)
    make_folder(target.parent)
    return store_arrays(page, target)


def _answer(data: bytes) -> tuple[int, bytes]:
    try:
        task = pipe.decode_task(data)
        signal.alarm(math.ceil(task.seconds) + _LATE)
        return pipe.RESULT, pipe.encode(_do(task))
    except (OpError, OSError) as error:
        return pipe.REFUSED, str(error).encode(errors="replace")
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:  # a fault of ours, which is said rather than hidden
        traceback.print_exc()
        return pipe.FAILED, repr(error).encode(errors="replace")
    finally:
        signal.alarm(0)


def _serve(incoming: BinaryIO, connection: socket.socket) -> None:
    while len(head := incoming.read(4)) == 4:
        kind, data = _answer(incoming.read(int.from_bytes(head, "little")))
        connection.sendall(pipe.ANSWER.pack(len(data), kind) + data)


def main() -> None:
    _, handle, memory = sys.argv
    begin(int(memory))
    connection = socket.socket(fileno=int(handle))
    # A server that has ended waits for no answer.
    with connection.makefile("rb") as incoming, contextlib.suppress(ConnectionError):
        _serve(incoming, connection)


if __name__ == "__main__":
    main()
