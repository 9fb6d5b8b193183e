"""Looks for calls, files and messages that get neither a right answer nor a refusal.

    python tools/fuzz                             every target, for a minute in all
    python tools/fuzz ops,page --seconds 600      these targets, longer
    python tools/fuzz ops Gather                  one op
    python tools/fuzz ops Gather 1234             one call again
    python tools/fuzz page .fuzz/found/page/...   one file again

Targets are
    ops         all ops on anything: tools/fuzz/ops.py
    kernels     compiled kernels against the reference implementations: tools/fuzz/kernels.py
    page, npy, npz, safetensors, checkpoint, bundle, message
                bytes for what reads them (tools/fuzz/readers.py), by atheris, which begins with the
                files in tests/fuzz/corpus and keeps those that reach new code in .fuzz/corpus
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import children
from fuzz.findings import FOUND, Told, ToldOfBytes
from fuzz.limits import limit_memory

OF_CALLS = ("ops", "kernels")
OF_BYTES = ("page", "npy", "npz", "safetensors", "checkpoint", "bundle", "message")
OF_JSON = ("page", "message")
MOST_TRIES = 20_000
"""After which a child is replaced, so that what tries leave behind does not add up."""
COMMAND = (sys.executable, str(Path(__file__).parent))
LONGEST = 4096
"""Bytes of a file that atheris makes up."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="?", default=",".join(OF_CALLS + OF_BYTES))
    parser.add_argument("what", nargs="?", default="", help="one op, or one file")
    parser.add_argument("seed", nargs="?", type=int, help="one call of the op")
    parser.add_argument("--seconds", type=float, default=60, help="shared by the targets")
    parser.add_argument("--first", type=int, default=random.randrange(2**32), help="first seed")  # noqa: S311
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    targets = given.targets.split(",")
    if unknown := {*targets} - {*OF_CALLS, *OF_BYTES}:
        parser.error(f"no target {', '.join(unknown)}")
    if given.child is not None:
        limit_memory()
        reporter = children.Reporter(given.child)
        if targets[0] in OF_BYTES:
            _mutate(targets[0], given, reporter)
        else:
            _call(targets[0], given, reporter)
        return 0
    if given.seed is not None or (given.what and targets[0] in OF_BYTES):
        limit_memory()
        return _again(targets[0], given.what, given.seed)
    found = 0
    for target in targets:
        began = time.monotonic()
        fuzz = _fuzz_bytes if target in OF_BYTES else _fuzz_calls
        told = fuzz(target, given, given.seconds / len(targets))
        found += told.end(time.monotonic() - began)
    return 1 if found else 0


def _again(target: str, what: str, seed: int | None) -> int:
    """Makes one try again, with the traceback of what is wrong with it."""
    if seed is None:
        from fuzz import readers

        try:
            print(readers.check(target, Path(what).read_bytes()))
        finally:
            readers.close()
        return 0
    _, check, describe = _functions(target)
    print(describe(what, seed), file=sys.__stdout__, flush=True)
    print(check(what, seed), file=sys.__stdout__)
    return 0


# -- calls ----------------------------------------------------------------------------------------


def _functions(
    target: str,
) -> tuple[list[str], Callable[[str, int], str], Callable[[str, int], str]]:
    """The ops of a target, how to try one with a seed, and the words for a try."""
    if target == "kernels":
        from fuzz import kernels

        return (
            sorted(kernels.OPS),
            lambda name, seed: kernels.check(kernels.OPS[name], seed),
            lambda name, seed: "",
        )
    from fuzz import ops

    return sorted(ops.OPS), ops.check_apart, ops.describe


def _call(target: str, given: argparse.Namespace, reporter: children.Reporter) -> None:
    """The child: calls all ops with one seed after the other, beginning behind the first `skip`."""
    names, check, describe = _functions(target)
    names = [given.what] if given.what else names
    end = time.monotonic() + given.seconds
    for seed, name in itertools.islice(
        _tries(names, given.first), given.skip, given.skip + MOST_TRIES
    ):
        if time.monotonic() > end:
            break
        tried = f"{name} {seed}".encode()
        reporter.tries(tried)
        try:
            reporter.became(check(name, seed))
        except Exception as error:
            reporter.found(tried, error, describe(name, seed))
    reporter.end()


def _tries(names: list[str], first: int) -> Iterator[tuple[int, str]]:
    return ((seed, name) for seed in itertools.count(first) for name in names)


def _fuzz_calls(target: str, given: argparse.Namespace, seconds: float) -> Told:
    told, first = Told(target), given.first
    names = [given.what] if given.what else _functions(target)[0]
    words = [*COMMAND, target, *([given.what] if given.what else [])]
    skip = ["--first", str(first), "--skip", "0"]
    words += skip
    for tried in children.run(words, seconds, told):
        name, seed = tried.decode().split()
        words[-1] = str((int(seed) - first) * len(names) + names.index(name) + 1)
    return told


# -- bytes ----------------------------------------------------------------------------------------


def _mutate(target: str, given: argparse.Namespace, reporter: children.Reporter) -> None:
    """The child: has atheris make up bytes that reach new code."""
    import atheris

    include = ["backblocks.pages", "backblocks.ops.io"]
    if target == "message":
        include.append("backblocks.studio")
    if loaded := [name for name in sys.modules if name.startswith(tuple(include))]:
        raise RuntimeError(f"{loaded} were imported before atheris could count what they reach")
    with atheris.instrument_imports(include=[*include, "zipfile"]):
        from fuzz import readers
    from fuzz.limits import Slow, in_time

    def try_one(data: bytes) -> None:
        reporter.tries(data)
        try:
            with in_time():
                outcome = readers.check(target, data)
            reporter.became(outcome)
        except Slow:
            reporter.became("interrupted")
        except Exception as error:
            reporter.found(data, error)

    own = FOUND.parent / "corpus" / target
    own.mkdir(parents=True, exist_ok=True)
    words = FOUND.parent / f"{target}.words"
    words.write_text("".join(f'"{word}"\n' for word in readers.words(target)))
    # Time and memory are limited here: its own limits end the process without a word of what was tried.
    limits = ["-timeout=0", "-rss_limit_mb=0", f"-max_len={LONGEST}", "-verbosity=0"]
    limits += [f"-dict={words}", f"-artifact_prefix={FOUND.parent}/"]
    limits += [f"-max_total_time={max(int(given.seconds), 1)}", f"-seed={given.first % 2**31}"]
    limits += [f"-runs={MOST_TRIES}"]
    by_json = {}
    if target in OF_JSON:
        from fuzz.json_mutations import mutated

        def mutate(data: bytes, longest: int, seed: int) -> bytes:
            return mutated(data, seed, lambda other: atheris.Mutate(other, longest))[:longest]

        by_json = {"custom_mutator": mutate}
    kept = [str(own), str(readers.CORPORA / target)]
    atheris.Setup([sys.argv[0], *limits, *kept], try_one, **by_json)
    try:
        atheris.Fuzz()
    except BaseException:  # to end in the usual way, atheris would wait for Python, which has ended
        traceback.print_exc()
        os._exit(1)


def _fuzz_bytes(target: str, given: argparse.Namespace, seconds: float) -> Told:
    told = ToldOfBytes(target)
    try:
        import atheris  # noqa: F401
    except ImportError:
        print(f"{target}: atheris is not there for this Python; tests/fuzz replays the corpus")
        return told
    command = [*COMMAND, target, "--first", str(given.first)]
    for _ in children.run(command, seconds, told):
        given.first += 1  # the same tries would end in the same way
        command[-1] = str(given.first)
    return told


if __name__ == "__main__":
    sys.exit(main())
