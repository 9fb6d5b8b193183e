"""Pages that somebody, or something, has spoiled: every command answers in words."""

import ast
import contextlib
import io
import json
import random
import re
import time
import tokenize
from pathlib import Path

import numpy as np
import pytest

import backblocks as bb
from backblocks import examples
from backblocks.cli import main
from backblocks.pages.references import references

EXPORTED = Path(__file__).resolve().parents[1] / "pages/exported"
SOURCES = [*map(examples.path, examples.names()), *sorted(EXPORTED.glob("*.page.json"))]
PAGES_PER_SEED = 12

ODD = [
    None, True, 0, -1, 3, 2**31, 2**63, 10**30, 10**400, 1e308, 0.5, 1e-320,
    "", "x", "\u202e\u0301é", "a b", "../x", "/etc/passwd", "nan", "nowhere:y", "::", "x:output[99]",
    "float32", "string", "resource", "gradients", "page", "Const", "VariableV2", "Switch", "Merge",
    "FIFOQueueV2", "Placeholder", "Assign", "trend", "histogram", "image", "SAME",
    [], [[]], {}, [None], [1, "a"], [[1, 2], [3]], [0] * 300, [10**9], [2**31, 2**31], [-1],
    {"dtype": "float32"}, {"dtype": "float32", "value": "nan"}, {"dtype": "float32", "file": "x.npy"},
    {"dtype": "string", "value": ["é", {"base64": "/w=="}]}, {"dtype": "bfloat16", "value": [1, 2]},
    {"dtype": "float32", "shape": [2**40], "value": []}, {"number": "inf"},
]  # fmt: skip
KEYS = [
    "x",
    "é",
    "",
    "a b",
    "x" * 5000,
    "op",
    "in",
    "attrs",
    "after",
    "initial",
    "steps",
    "element",
]


def places(value, at=()):
    """The way to everything in some JSON that can be spoiled."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:20])
    for key, each in inside:
        yield (*at, key)
        if isinstance(each, dict | list):
            yield from places(each, (*at, key))


def at(value, way):
    for key in way:
        value = value[key]
    return value


def spoil(page, chance):
    """Drops, replaces, renames, swaps or adds something."""
    ways = [way for way in places(page) if way[0] not in ("layout", "notes")]
    blocks = [way for way in ways if way[0] == "blocks"]
    settings = [way for way in ways if way[0] != "blocks"]
    *way, key = chance.choice(chance.choice([blocks, settings]) or ways)
    holder = at(page, way)
    match chance.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = copied(at(page, chance.choice(ways)))
        case 2 if isinstance(holder, dict):
            holder[chance.choice(KEYS)] = holder.pop(key)
        case 3 if isinstance(holder, dict):
            holder[chance.choice(KEYS)] = copied(chance.choice(ODD))
        case 4 if isinstance(holder[key], str):
            holder[key] = chance.choice([*page.get("blocks", {}), *ODD[12:22], holder[key] + ":z"])
        case _:
            holder[key] = copied(chance.choice(ODD))


def copied(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("seed", range(6))
def test_spoiled_pages_are_told_of_in_words(seed, tmp_path, capsys):
    chance = random.Random(seed)  # noqa: S311
    path = tmp_path / "a.page.json"
    codes = set()
    for _ in range(PAGES_PER_SEED):
        page = json.loads(chance.choice(SOURCES).read_text())
        for _ in range(chance.choice([1, 1, 2, 4])):
            spoil(page, chance)
        path.write_text(json.dumps(page, ensure_ascii=False))
        for command, *options in (
            ["check"],
            ["check", "--json"],
            ["run", "--steps", "2"],
            ["run", "--steps", "1", "--json"],
            ["export", "--to", "python", "--json"],
            ["export", "--to", "tensorflow"],
        ):
            code = main([command, str(path), *options])
            told = capsys.readouterr()
            assert code in (0, 1), path.read_text()
            codes.add(code)
            assert told.out or told.err or code == 0
            if "--json" in options:
                assert bool(json.loads(told.out).get("problems")) == (code == 1)
    assert 1 in codes, "no page was spoiled"


# -- pages that multiply --------------------------------------------------------------------------

X = {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [2]}}
ONE = {"op": "Const", "attrs": {"value": 1.5}}
MANY = 2000


def use(name, **more):
    return {"op": "page", "attrs": {"page": name}, **more}


def chain(count, first, name="c", op="Neg"):
    """Blocks that each take what the one before gives."""
    wires = [first, *(f"{name}{i}" for i in range(count))]
    return {f"{name}{i}": {"op": op, "in": {"x": wires[i]}} for i in range(count)}


def nested(folder, last, width=4, depth=12):
    """Pages of which each uses the next several times."""
    for i in range(depth):
        part = {f"p{j}": use(f"{i + 1}.page.json") for j in range(width)}
        saved(folder / f"{i}.page.json", part)
    saved(folder / f"{depth}.page.json", last)
    return folder / "0.page.json"


def saved(path, blocks, **rest):
    path.write_text(json.dumps({"format": 1, "blocks": blocks, **rest}))
    return path


def of_part(folder, part, blocks):
    saved(folder / "part.page.json", part)
    return saved(folder / "0.page.json", blocks)


def gradients(y, x="x"):
    return {"op": "gradients", "in": {"ys": [y], "xs": [x]}}


BOMBS = {
    "pages in pages": lambda d: nested(d, {"c": ONE}),
    "empty pages in pages": lambda d: nested(d, {}),
    "gradients of gradients": lambda d: saved(
        d / "0.page.json",
        {"x": X, "g0": {"op": "Tanh", "in": {"x": "x"}}}
        | {f"g{i + 1}": gradients(f"g{i}") for i in range(40)},
    ),
    "many gradients of a long chain": lambda d: saved(
        d / "0.page.json",
        {"x": X, **chain(MANY, "x")} | {f"g{i}": gradients(f"c{MANY - 1}") for i in range(MANY)},
    ),
    "many gradients that are none": lambda d: saved(
        d / "0.page.json",
        {"x": X, "z": ONE, **chain(MANY, "x")}
        | {f"g{i}": gradients(f"c{MANY - 1}", "z") for i in range(MANY)},
    ),
    "lists that are taken apart": lambda d: saved(
        d / "0.page.json",
        {"x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [60000]}}}
        | {
            f"u{i}": {"op": "Unpack", "in": {"value": "x"}, "attrs": {"num": 60000}}
            for i in range(99)
        },
    ),
    "blocks after all of a page": lambda d: of_part(
        d,
        {f"c{i}": ONE for i in range(MANY)},
        {"p": use("part.page.json")} | {f"q{i}": {**ONE, "after": ["p"]} for i in range(MANY)},
    ),
    "all of a page after all of a page": lambda d: of_part(
        d,
        {f"n{i}": {"op": "NoOp"} for i in range(2 * MANY)},
        {"p": use("part.page.json"), "q": use("part.page.json", after=["p"])},
    ),
    "a long constant many times": lambda d: of_part(
        d,
        {"c": {"op": "Const", "attrs": {"value": [0.5] * 10**6}}},
        {f"p{i}": use("part.page.json") for i in range(400)},
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_pages_that_multiply_end_the_check(bomb, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("backblocks.pages.builder.MAX_BLOCKS", 20_000)
    path = BOMBS[bomb](tmp_path)
    begun = time.process_time()
    assert main(["check", str(path), "--json"]) == 1
    assert time.process_time() - begun < 30
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert "at most 20000 blocks" in problem["text"]
    assert main(["run", str(path)]) == 1
    assert capsys.readouterr().err.count("at most 20000 blocks") == 1


WRONG = {
    "of pages in pages": lambda d: nested(d, {"c": {"op": "Nothing"}}),
    "of wires": lambda d: saved(
        d / "0.page.json",
        {f"block{i}": {"op": "Neg", "in": {"x": f"blok{i}"}} for i in range(20_000)},
    ),
    "of pins": lambda d: saved(
        d / "0.page.json",
        {f"b{i}": ONE for i in range(20_000)}
        | {f"c{i}": {"op": "Neg", "in": {"x": f"b{i}:z"}} for i in range(20_000)},
    ),
    "of settings": lambda d: saved(
        d / "0.page.json",
        {f"b{i}": ONE for i in range(20_000)},
        run={"fetch": [f"bb{i}" for i in range(20_000)]},
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_problems_that_multiply_end_the_check(wrong, tmp_path, capsys):
    path = WRONG[wrong](tmp_path)
    begun = time.process_time()
    assert main(["check", str(path), "--json"]) == 1
    assert time.process_time() - begun < 20
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert len(problems) == 1001
    assert "has more problems than the first 1000" in problems[-1]["text"]


def test_pages_in_pages_have_a_depth(tmp_path, capsys):
    path = nested(tmp_path, {"c": ONE}, width=1, depth=300)
    assert main(["check", str(path), "--json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert "more than 32 levels deep" in problem["text"]
    assert main(["check", str(nested(tmp_path, {"c": ONE}, width=1, depth=32))]) == 0


def test_names_have_a_length(tmp_path, capsys):
    path = of_part(tmp_path, {f"c{i}": ONE for i in range(9)}, {"x" * 1001: use("part.page.json")})
    assert main(["check", str(path), "--json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert "at most 1000" in problem["text"]


WRITES = {
    "one after the other": {
        "a0": {"op": "VariableV2", "initial": 1.5},
        **{f"a{i + 1}": {"op": "Assign", "in": {"ref": f"a{i}", "value": 2}} for i in range(8000)},
    },
    "each by itself": {
        "v": {"op": "VariableV2", "initial": 1.5},
        **{f"a{i}": {"op": "Assign", "in": {"ref": "v", "value": 2}} for i in range(8000)},
        **{f"r{i}": {"op": "Neg", "in": {"x": "v"}} for i in range(4000)},
    },
}


@pytest.mark.parametrize("how", WRITES)
def test_thousands_of_writes_to_a_variable_are_put_in_order(how, tmp_path, capsys):
    path = saved(tmp_path / "0.page.json", WRITES[how])
    begun = time.process_time()
    assert main(["check", str(path)]) == 0
    assert time.process_time() - begun < 7
    assert "no problems" in capsys.readouterr().out


def test_too_many_writes_are_refused_before_they_are_put_in_order(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("backblocks.graph.program.MOST_PAIRS", 10**6, raising=False)
    path = saved(tmp_path / "0.page.json", WRITES["each by itself"])
    assert main(["check", str(path), "--json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert "more writes to variables than can be put in order" in problem["text"]


def test_a_file_is_read_once_for_all_constants_that_name_it(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3), "f4"))
    large = {"dtype": "float32", "file": "x.npy"}
    blocks = {f"c{i}": {"op": "Const", "attrs": {"value": large}} for i in range(50)}
    blocks |= {f"n{i}": {"op": "Neg", "in": {"x": large}} for i in range(50)}
    saved(tmp_path / "part.page.json", blocks)
    blocks |= {"p": use("part.page.json")}
    page = bb.open_page(saved(tmp_path / "0.page.json", blocks))
    graph = page.graph()
    values = {id(b.attrs["value"]) for b in graph if b.op.name == "Const"}
    assert len(values) == 1
    np.save(tmp_path / "x.npy", np.ones((2, 3), "f4"))
    assert page.session().run("n3").tolist() == [[-1] * 3] * 2


def test_links_from_a_folder_to_itself_give_files_no_end_of_names(tmp_path):
    for link in "stuv":
        (tmp_path / link).symlink_to(".")
    for i in range(12):
        parts = {link: use(f"{link}/{i + 1}.page.json") for link in "stuv"}
        saved(tmp_path / f"{i}.page.json", parts)
    saved(tmp_path / "12.page.json", {"c": ONE})
    (tmp_path / "own").symlink_to(".")
    saved(tmp_path / "itself.page.json", {"i": use("own/itself.page.json")})
    assert len(references(bb.open_page(tmp_path / "itself.page.json"))) == 1
    with pytest.raises(bb.OpError, match="at most 10000 files"):
        references(bb.open_page(tmp_path / "0.page.json"))


# -- text that gives orders to terminals -----------------------------------------------------------

CONTROLS = [
    *map(chr, [*range(32), *range(0x7F, 0xA0)]),
    *"\u202a\u202e\u2066\u2069\u200f\u061c\u2028\u2029\ufeff",
]
EVIL = "\x1b[2J" + "".join(CONTROLS) + '"""\n__import__("os").abort()\n"""'


def evil_page(folder, name="a.page.json"):
    """A page that has such text wherever there may be text."""
    page = {
        "format": 1,
        "title": EVIL,
        "about": EVIL,
        "blocks": {
            EVIL: {
                "op": EVIL,
                "about": EVIL,
                "in": {EVIL: EVIL},
                "attrs": {EVIL: EVIL},
                "after": [EVIL],
            },
            "bad": {"op": "Neg", "about": EVIL, "in": {"x": EVIL}},
            "worse": {"op": "MaxPool", "in": {"input": [[1.5]]}, "attrs": {"padding": EVIL}},
            "part": {"op": "page", "attrs": {"page": EVIL}},
        },
        "frames": {EVIL: {"title": EVIL, "blocks": [EVIL]}},
        "monitors": {EVIL: {"kind": EVIL, "title": EVIL, "shows": [{"pin": EVIL, "label": EVIL}]}},
        "run": {"fetch": [EVIL], "targets": [EVIL], "until": EVIL, "feeds": {EVIL: 1}},
        "ports": {"inputs": {EVIL: {"pin": EVIL, "dtype": EVIL}}},
    }
    (folder / name).write_text(json.dumps(page))
    return str(folder / name)


def sound_page(folder):
    """A page that runs, with such text in titles and values."""
    text = {"dtype": "string", "value": [EVIL, "a"]}
    page = {
        "format": 1,
        "title": EVIL,
        "blocks": {
            "text": {"op": "Const", "about": EVIL, "attrs": {"value": text}},
            "join": {
                "op": "StringJoin",
                "about": EVIL,
                "in": {"inputs": ["text", "text"]},
                "attrs": {"separator": EVIL},
            },
        },
        "monitors": {
            "m": {"kind": "number", "title": EVIL, "shows": [{"pin": "join", "label": EVIL}]}
        },
        "run": {"fetch": ["join:output", "text"]},
    }
    folder = folder / "evil \x1b[31m\x9b\u202e"
    folder.mkdir()
    (folder / "a.page.json").write_text(json.dumps(page))
    return str(folder / "a.page.json")


def plain(text):
    return not set(text) & {*CONTROLS, "\ud800"} - {"\n"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("tty", [False, True])
def test_text_gives_no_orders_to_a_terminal(tty, tmp_path, monkeypatch):
    evil, sound = evil_page(tmp_path), sound_page(tmp_path)
    other = evil_page(tmp_path, "b.page.json")
    Path(other).write_text(Path(other).read_text().replace("u001b[2J", "u001b[3J"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for command in (
        ["check", evil],
        ["check", evil, "--json"],
        ["check", sound],
        ["check", sound, "--json"],
        ["run", evil],
        ["run", sound],
        ["run", sound, "--json"],
        ["run", sound, "--fetch", EVIL.replace("\0", "")],
        ["run", sound, "--set", f"text.{EVIL}=1"],
        ["run", sound, "--feed", f"text={EVIL}"],
        ["diff", evil, other],
        ["diff", evil, other, "--json"],
        ["diff", evil, sound],
        ["export", evil, "--to", "python"],
        ["export", sound, "--to", "python"],
        ["export", sound, "--to", "tensorflow"],
        ["export", sound, "--to", "python", "--json"],
        ["ops", EVIL],
        ["new", sound],
        ["new", str(tmp_path / "no\x1b[2J" / "a.page.json")],
        ["new", str(tmp_path / "new.page.json"), "--from", EVIL],
        [EVIL],
    ):
        out, err = (Terminal() if tty else io.StringIO() for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(command)
            except SystemExit as end:  # argparse
                code = end.code
        text = out.getvalue() + err.getvalue()
        if tty:
            text = re.sub("\x1b\\[(31|32|33|1|2|0)m", "", text)
        assert plain(text), (command, text)
        assert code in (0, 1, 2), command
        assert text
        if "--json" in command:
            json.loads(out.getvalue())


def test_json_has_the_very_text(tmp_path, capsys):
    main(["run", sound_page(tmp_path), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["fetched"]["text"]["value"] == [EVIL, "a"]


@pytest.mark.parametrize("to", ["python", "tensorflow"])
def test_text_stays_in_its_place_in_a_script(to, tmp_path, capsys):
    page = sound_page(tmp_path)
    assert main(["export", page, "--to", to, "--out", str(tmp_path / "script.py")]) == 0
    script = (tmp_path / "script.py").read_text(encoding="utf-8")
    assert plain(script)
    tree = ast.parse(script)
    assert "__import__" in ast.get_docstring(tree)
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "__import__" not in called
    comments = [
        t.string
        for t in tokenize.generate_tokens(io.StringIO(script).readline)
        if t.type == tokenize.COMMENT
    ]
    assert all(plain(comment) for comment in comments)
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert EVIL.encode() in values
    assert EVIL in values


# -- faults of ours --------------------------------------------------------------------------------


def test_a_fault_of_ours_is_told_as_ours(tmp_path, capsys, monkeypatch):
    path = saved(tmp_path / "a.page.json", {"c": ONE})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def build(page):
        raise KeyError("nobody \x1b foresaw this")

    monkeypatch.setattr("backblocks.commands.check.build", build)
    assert main(["check", str(path), "--json"]) == 3
    told = capsys.readouterr()
    (problem,) = json.loads(told.out)["problems"]
    assert "a fault of its own" in problem["text"]
    assert "KeyError" in problem["got"]
    assert "Please report it" in told.err
    assert "Traceback (most" not in told.err
    (report,) = tmp_path.glob("backblocks-*.txt")
    assert str(report) in told.err
    assert "Traceback (most recent call last)" in report.read_text()
    assert plain(report.read_text())


def test_no_memory_is_told_in_words(tmp_path, capsys, monkeypatch):
    def build(page):
        raise MemoryError

    monkeypatch.setattr("backblocks.commands.check.build", build)
    assert main(["check", str(saved(tmp_path / "a.page.json", {"c": ONE}))]) == 1
    assert "needs more memory than there is" in capsys.readouterr().err


# -- JSON that is none -----------------------------------------------------------------------------

DEEP = [1.5]
for _ in range(32):
    DEEP = [DEEP]
JSON = {
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep inside": b'{"format": 1, "blocks": {"a": {"op": "Const", "attrs": {"value": '
    + b"[" * 50_000
    + b"]" * 50_000
    + b"}}}}",
    "half a character": b'{"format": 1, "title": "\\ud800"}',
    "half a character as a name": b'{"format": 1, "blocks": {"\\udc80": {"op": "Neg"}}}',
    "bytes": b"\xff\xfe\x00",
    "many digits": b'{"format": 1, "run": {"steps": ' + b"9" * 5000 + b"}}",
    "a large number": b'{"format": 1e999}',
    "nothing": b"",
    "zero bytes": bytes(1000),
}


@pytest.mark.parametrize("text", JSON)
def test_files_that_are_no_pages_are_told_of_in_words(text, tmp_path, capsys):
    path = tmp_path / "a.page.json"
    path.write_bytes(JSON[text])
    for command in (["check"], ["run"], ["export", "--to", "python"], ["diff", str(path)]):
        assert main([*command, str(path)]) == 1
        told = capsys.readouterr()
        assert told.err.startswith("Page."), told.err
        assert str(path) in told.err


WRONG_VALUES = {
    "33 levels": DEEP,
    "a number above 2^64": 2**70,
    "numbers above 2^64": [2**70, -(2**70)],
    "a typed number above 2^64": {"dtype": "int64", "value": 2**64},
    "33 levels of a type": {"dtype": "float32", "value": DEEP},
    "33 sizes": {"dtype": "float32", "shape": [0] * 33, "value": []},
    "sizes that no array has": {"dtype": "float32", "shape": [0, 2**40, 2**40], "value": []},
}


@pytest.mark.parametrize("value", WRONG_VALUES)
def test_constants_that_are_none_are_problems_of_their_block(value, tmp_path, capsys):
    blocks = {
        "data": {"op": "Const", "attrs": {"value": WRONG_VALUES[value]}},
        "sum": {"op": "SegmentSum", "in": {"data": "data", "segment_ids": [0]}},
        "wired": {"op": "SegmentSum", "in": {"data": WRONG_VALUES[value], "segment_ids": [0]}},
    }
    path = saved(tmp_path / "a.page.json", blocks, run={"feeds": {"data": WRONG_VALUES[value]}})
    assert main(["check", str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["problems"]
    places = {(problem["block"], problem["arg"]) for problem in told}
    assert ("data", "value") in places
    assert ("wired", "data") in places
    if "33" in value:
        rules = {problem["text"] for problem in told if problem["block"] in ("data", "wired")}
        assert all("must have at most 32 dimensions" in rule for rule in rules), rules
    assert main(["run", str(path)]) == 1
    assert (
        main(
            [
                "run",
                str(saved(tmp_path / "b.page.json", {"x": X})),
                "--feed",
                f"x={json.dumps(DEEP)}",
            ]
        )
        == 2
    )
