"""Makes tries in child processes with limits of memory and time.

Before each try a child notes in shared memory what it tries. So a try that ends the process, hangs or is
killed for its memory is known, and told with the command that makes it again.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fuzz.findings import Finding, Told, of_error
from fuzz.limits import HANGS, WAITS

MOST_BYTES = 1 << 16
"""The longest text or byte string that describes an attempt."""
_HEAD = struct.Struct("<ddI")
"""When the try began, the CPU time of the child by then, and how many bytes tell what it is."""
_TIME, _RESTS = struct.Struct("<d"), -1.0
"""When the try began, or that there is none now."""
_REPORTED = 1.0
"""Seconds between two reports of how many tries there were."""


class Reporter:
    """The child's side: notes what it tries, and says what became of it."""

    def __init__(self, handle: int) -> None:
        self._note = mmap.mmap(handle, _HEAD.size + MOST_BYTES)
        self._counts: dict[str, int] = {}
        self._told = time.monotonic()

    def tries(self, what: bytes) -> None:
        now = time.monotonic()
        self._note[: _HEAD.size + len(what)] = (
            _HEAD.pack(now, time.process_time(), len(what)) + what
        )
        if now - self._told > _REPORTED:
            self._told = now
            self.report()

    def became(self, outcome: str) -> None:
        self._rest()
        self._counts[outcome] = self._counts.get(outcome, 0) + 1

    def _rest(self) -> None:
        """Nothing is tried: whatever takes its time now is no try that hangs."""
        self._note[: _TIME.size] = _TIME.pack(_RESTS)

    def found(self, what: bytes, error: BaseException, call: str = "") -> None:
        self._rest()
        finding = error if isinstance(error, Finding) else of_error(error)
        self._say("finding", tried=what.hex(), cause=finding.cause, what=finding.what, call=call)

    def report(self) -> None:
        self._say("counts", counts=self._counts)
        self._counts = {}

    def end(self) -> None:
        self.report()
        self._say("end")

    def _say(self, kind: str, **fields: Any) -> None:
        print(json.dumps({"kind": kind, **fields}), file=sys.__stdout__, flush=True)


def run(command: Sequence[str], seconds: float, told: Told) -> Iterator[bytes]:
    """The parent: starts children until the time is over, and gives what each tried last.

    The command is read anew for each, so that the next may begin where the last one ended.
    """
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0.5:
        with tempfile.TemporaryFile() as file:
            file.truncate(_HEAD.size + MOST_BYTES)
            note = mmap.mmap(file.fileno(), _HEAD.size + MOST_BYTES)
            more = ["--seconds", str(left), "--child", str(file.fileno())]
            with subprocess.Popen(  # noqa: S603
                [*command, *more],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[file.fileno()],
            ) as process:
                ended, errors = _listen(process, note, told, end)
        began, _, length = _HEAD.unpack(note[: _HEAD.size])
        if not began:
            raise RuntimeError(f"the child {command} got to no try: {errors}")
        tried = note[_HEAD.size : _HEAD.size + length]
        if not ended and process.returncode != 0:
            told.finding(tried, _ending(process.returncode, errors))
        yield tried


def _listen(process: Any, note: mmap.mmap, told: Told, end: float) -> tuple[bool, str]:
    """Takes in what a child says until it ends: whether it came to its end, and its last errors."""
    errors: list[bytes] = []
    reading = threading.Thread(target=lambda: errors.append(process.stderr.read()), daemon=True)
    watching = threading.Thread(target=_watch, args=(process, note, end), daemon=True)
    reading.start()
    watching.start()
    ended = False
    for line in process.stdout:
        try:
            said = json.loads(line)
        except ValueError:
            continue  # something that was printed
        match said["kind"]:
            case "end":
                ended = True
            case "counts":
                told.outcomes.update(said["counts"])
            case "finding":
                told.finding(
                    bytes.fromhex(said["tried"]), said["what"], said["cause"], said["call"]
                )
    process.wait()
    reading.join()
    watching.join()
    return ended, errors[0].decode(errors="replace") if errors else ""


def _watch(process: Any, note: mmap.mmap, end: float) -> None:
    """Ends a child whose try takes too long, or that does not come to its end."""
    while process.poll() is None:
        began, cpu, _ = _HEAD.unpack(note[: _HEAD.size])
        waited = time.monotonic() - (began if began > 0 else end)
        if waited > HANGS * WAITS or (began > 0 and _cpu_time(process.pid) - cpu > HANGS):
            process.send_signal(signal.SIGKILL)
        time.sleep(0.2)


def _cpu_time(pid: int) -> float:
    """Seconds that a process has computed; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ending(code: int, errors: str) -> str:
    if code == -signal.SIGKILL:
        return f"takes more than {HANGS:.0f} s of CPU time, hangs, or was killed"
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"ended the process ({how}) {' '.join(errors[-300:].split())}"
