"""A process of the pool: checks, exports and saves pages, and reads arrays, one task at a time.

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
from backblocks.studio import ipc
from backblocks.studio.memory_estimate import peak_bytes
from backblocks.studio.messages import OmittedArray
from backblocks.studio.page_check import check_page
from backblocks.studio.processes import OUT_OF_MEMORY, enter_child_process

_WATCHDOG_DELAY = 5
"""Seconds after its limit that a task ends its process itself, if there is no server to end it."""


_MOST_CHANGES = 500
"""Changes between two runs that are listed."""


def _execute(task: ipc.Tasks) -> Any:
    """Executes a task. Imports that checks do not need are local: the first check should be quick."""
    match task:
        case ipc.CheckPage():
            return check_page(task.page, task.revision, task.document, Path(task.path))
        case ipc.EstimateMemory():
            return peak_bytes(task.document, Path(task.path))
        case ipc.ExportPage():
            return _exported(task)
        case ipc.ImportArrays():
            from backblocks.studio.array_import import constants

            file, page = Path(task.file), Path(task.path)
            return constants(file, task.title, page, task.parts, task.is_folder)
        case ipc.SaveArrays():
            return _written(task)
        case ipc.ComparePages():
            return _compared(task)


def _exported(task: ipc.ExportPage) -> tuple[str, list[OmittedArray]]:
    from backblocks.pages.export import to_python, to_tensorflow
    from backblocks.pages.inline_arrays import inline_arrays
    from backblocks.studio.run_plan import page_from_document

    if task.to == "page":
        text, omitted = inline_arrays(task.document, Path(task.path))
        return text, [OmittedArray(*each) for each in omitted]
    page = page_from_document(task.document, Path(task.path))
    return to_python(page) if task.to == "python" else to_tensorflow(page), []


def _compared(task: ipc.ComparePages) -> list[str]:
    from backblocks.pages.diff import diff
    from backblocks.studio.run_plan import page_from_document

    pages = (page_from_document(each, Path(task.path)) for each in (task.first, task.second))
    return [str(change) for change in diff(*pages)][:_MOST_CHANGES]


def _written(task: ipc.SaveArrays) -> bytes:
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
        task = ipc.decode_task(data)
        signal.alarm(math.ceil(task.seconds) + _WATCHDOG_DELAY)
        return ipc.RESULT, ipc.encode(_execute(task))
    except (OpError, OSError) as error:
        return ipc.REFUSED, str(error).encode(errors="replace")
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:  # an internal error, which is reported rather than hidden
        traceback.print_exc()
        return ipc.FAILED, repr(error).encode(errors="replace")
    finally:
        signal.alarm(0)


def _serve(incoming: BinaryIO, connection: socket.socket) -> None:
    while len(head := incoming.read(4)) == 4:
        kind, data = _answer(incoming.read(int.from_bytes(head, "little")))
        connection.sendall(ipc.ANSWER.pack(len(data), kind) + data)


def main() -> None:
    _, handle, memory = sys.argv
    enter_child_process(int(memory))
    connection = socket.socket(fileno=int(handle))
    # A server that has ended waits for no answer.
    with connection.makefile("rb") as incoming, contextlib.suppress(ConnectionError):
        _serve(incoming, connection)


if __name__ == "__main__":
    main()
