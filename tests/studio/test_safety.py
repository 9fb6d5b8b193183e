"""Nobody but the studio's own page, let in by the printed address, can ask the server for anything."""

import contextlib
import json
import os
import socket as sockets
import time
import typing

import msgspec
import pytest
from conftest import page_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import InvalidMessage, InvalidStatus
from websockets.sync.client import connect

from backblocks.studio import messages as m
from backblocks.studio.app import create_app
from backblocks.studio.auth import Credentials
from backblocks.studio.connections import MAX_CONNECTIONS
from backblocks.studio.state_folder import StateFolder

SOCKET = "/socket"
GETS = ["/api/file?path=a.page.json", "/api/value?page=1&pin=a:output"]
POSTS = ["/enter", "/api/array?page=1&name=x.npy"]
STATIC = ["/", "/ops.json", "/assets/index.js", "/../pyproject.toml", "/%2e%2e/app.py"]
MALICE = "https://evil.example"


def routes(tmp_path):
    """The paths of the application, with what they take."""
    app = create_app(tmp_path, Credentials(1), [], 1, state=StateFolder(tmp_path / "state")).app
    return {route.path: getattr(route, "methods", None) for route in app.routes}


def test_every_route_is_walked_here(tmp_path):
    known = {path.partition("?")[0] for path in (*GETS, *POSTS)} | {"/", "", SOCKET}
    found = routes(tmp_path)
    assert set(found) == known
    for path, methods in found.items():
        changes = {"POST", "PUT", "PATCH", "DELETE"} & (methods or set())
        assert bool(changes) == (path in {each.partition("?")[0] for each in POSTS})


def test_a_browser_that_an_earlier_studio_let_in_is_told_what_to_do(shared):
    old = shared.cookie.partition("=")[0] + "=of-an-earlier-studio"
    status, text, _ = shared.ask("GET", "/api/value", Cookie=old)
    assert (status, text) == (
        401,
        b"The studio was started anew. Open the studio by the address that it printed.\n",
    )
    assert b"anew" not in shared.ask("GET", "/api/value")[1]


@pytest.mark.parametrize("path", GETS)
def test_reading_needs_the_cookie(shared, path):
    page_file(shared.folder, "a", {"blocks": {}})
    assert shared.ask("GET", path)[0] == 401
    wrong = f"backblocks_{shared.host.partition(':')[2]}=wrong"
    assert shared.ask("GET", path, Cookie=wrong)[0] == 401
    assert shared.ask("GET", path, Authorization="Bearer wrong")[0] == 401
    assert shared.get(path)[0] in (200, 404)


@pytest.mark.parametrize("path", [*GETS, *POSTS, *STATIC])
@pytest.mark.parametrize("host", ["evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "", "[::1"])
def test_a_wrong_host_is_refused(shared, path, host):
    host = host.format(port=shared.host.partition(":")[2])
    method = "POST" if path in POSTS else "GET"
    body = b"{}" if method == "POST" else None
    status, _, _ = shared.ask(
        method, path, body, Host=host, Cookie=shared.cookie, Origin=f"http://{host}"
    )
    assert status == 400


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("origin", [MALICE, "null", "http://127.0.0.1:1", "http://localhost", None])
def test_a_post_of_a_wrong_null_or_missing_origin_is_refused(shared, path, origin):
    headers = {"Cookie": shared.cookie} | ({} if origin is None else {"Origin": origin})
    assert shared.ask("POST", path, b"{}", **headers)[0] == 403


@pytest.mark.parametrize("path", [*GETS, *STATIC])
@pytest.mark.parametrize("origin", [MALICE, "null"])
def test_reading_for_a_foreign_page_is_refused(shared, path, origin):
    assert shared.ask("GET", path, Cookie=shared.cookie, Origin=origin)[0] == 403
    assert shared.ask("GET", path, Cookie=shared.cookie, Sec_Fetch_Site="cross-site")[0] == 403
    assert shared.ask("GET", path, Cookie=shared.cookie, Sec_Fetch_Site="same-site")[0] == 403


def test_a_link_leads_to_the_start_page_only(shared):
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert shared.ask("GET", "/", **link)[0] in (200, 503)
    assert shared.ask("GET", GETS[0], Cookie=shared.cookie, **link)[0] == 403


def opens(studio, host=None, origin=None, **headers):
    """Whether a socket opens."""
    address, port = studio.host.split(":")
    sock = sockets.create_connection((address, int(port)))
    try:
        with connect(
            f"ws://{host or studio.host}{SOCKET}",
            sock=sock,
            origin=origin,
            additional_headers=headers,
        ) as socket:
            return "welcome" in socket.recv(timeout=30)
    except (InvalidStatus, InvalidMessage):
        return False


def test_a_socket_needs_cookie_host_and_origin(studio):
    own = f"http://{studio.host}"
    assert not opens(studio, origin=own)
    studio.enter()
    cookie = {"Cookie": studio.cookie}
    assert opens(studio, origin=own, **cookie)
    for origin in (MALICE, "null", "http://127.0.0.1:1", own.replace("http", "https"), None):
        assert not opens(studio, origin=origin, **cookie)
    port = studio.host.partition(":")[2]
    assert not opens(studio, f"evil.example:{port}", f"http://evil.example:{port}", **cookie)
    assert not opens(studio, origin=own, **cookie, **{"Sec-Fetch-Site": "cross-site"})
    assert not opens(studio, origin=own, Cookie="other=1; " + studio.cookie + "x")


def test_a_script_may_leave_out_the_origin_if_it_has_the_secret(shared):
    secret = {"Authorization": "Bearer " + shared.cookie.partition("=")[2]}
    assert opens(shared, **secret)
    assert not opens(shared, origin=MALICE, **secret)
    assert not opens(shared, Authorization="Bearer wrong")
    assert shared.ask("GET", "/api/value?page=1&pin=x", **secret)[0] == 404


def test_the_printed_address_lets_in_once(studio):
    own = {"Origin": f"http://{studio.host}"}
    assert studio.ask("POST", "/enter", b'{"token": "wrong"}', **own)[0] == 403
    for broken in (b"", b"[]", b'{"token": 1}', b"{}", b"x" * 10_000):
        assert studio.ask("POST", "/enter", broken, **own)[0] in (400, 403, 413)
    body = json.dumps({"token": studio.token}).encode()
    status, _, headers = studio.ask("POST", "/enter", body, **own)
    assert status == 200
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(headers["set-cookie"].split("; "))
    assert studio.ask("POST", "/enter", body, **own)[0] == 403
    assert studio.ask("GET", "/enter")[0] == 404


@pytest.mark.parametrize("path", ["/", "/nowhere", "/api/file"])
def test_every_answer_forbids_browsers_what_it_can(shared, path):
    _, _, headers = shared.ask("GET", path)
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert f"ws://{shared.host}" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


# -- files ----------------------------------------------------------------------------------------


def test_files_outside_the_folder_are_not_reached(studio, tmp_path):
    secret = tmp_path / "secret.npy"
    secret.write_bytes(b"secret")
    os.symlink(secret, studio.folder / "link.npy")
    os.symlink(tmp_path, studio.folder / "up")
    page_file(tmp_path, "outer", {"blocks": {}})
    (studio.folder / "inner").mkdir()
    page_file(studio.folder / "inner", "a", {"blocks": {}})
    studio.enter()
    assert studio.get("/api/file?path=inner/a.page.json")[0] == 200
    names = ["../secret.npy", str(secret), "link.npy", "up/secret.npy", "inner", "", "a%00b", "."]
    for name in [*names, "inner/../../secret.npy", "%2e%2e/secret.npy", "..\\secret.npy"]:
        assert studio.get(f"/api/file?path={name}")[0] == 404, name
    tab = studio.tab()
    for path in ("../outer.page.json", "up/outer.page.json", str(tmp_path / "outer.page.json")):
        tab.send("open", request=1, path=path)
        assert "below the folder" in tab.hear("refused", request=1)["text"]
        page = tab.open()["page"]
        tab.send("save", page=page, path=path, overwrite=True)
        assert tab.hear("save refused")["reason"] == "failed"
    tab.send("list files")
    assert [each["path"] for each in tab.hear("files")["files"]] == ["inner/a.page.json"]


def test_only_pages_are_written(shared):
    (shared.folder / "notes.txt").write_text("mine")
    tab = shared.tab()
    page = tab.open()["page"]
    for name in ("notes.txt", ".page.json", "x.json", "sub/../notes.txt"):
        tab.send("save", page=page, path=name, overwrite=True)
        assert tab.hear("save refused")["reason"] == "failed"
    assert (shared.folder / "notes.txt").read_text() == "mine"


def test_what_cannot_be_understood_is_refused_and_the_socket_lives_on(shared):
    tab = shared.tab()
    for nonsense in ("", "[]", "{", '{"kind": "format disk"}', '{"kind": "run"}', "[" * 100_000):
        tab.socket.send(nonsense)
        assert "cannot be understood" in tab.hear("refused")["text"]
    tab.send("run", page=77)
    assert "not open" in tab.hear("refused")["text"]
    deep = value = {}
    for _ in range(300):
        value["x"] = value = {}
    page = tab.open()["page"]
    number = tab.send_change(page, {"path": ["blocks", "x"], "value": deep})
    assert tab.hear("refused", number=number)
    assert tab.open()["page"]


def test_hidden_files_are_neither_served_nor_listed_nor_opened(studio):
    page_file(studio.folder, ".hidden", {"blocks": {}})
    page_file(studio.folder, "seen", {"blocks": {}})
    (studio.folder / ".git").mkdir()
    page_file(studio.folder / ".git", "inner", {"blocks": {}})
    (studio.folder / ".env").write_text("secret")
    os.symlink(".env", studio.folder / "env.npy")
    os.symlink("seen.page.json", studio.folder / ".link.page.json")
    tab = studio.tab()
    page = tab.open()["page"]
    hidden = [".env", ".hidden.page.json", ".git/inner.page.json", "env.npy", ".link.page.json"]
    for name in [*hidden, "./.env", ".git/../.env", "x/../.git/inner.page.json"]:
        status, text, _ = studio.get(f"/api/file?path={name}")
        assert (status, b"must not be hidden" in text) == (404, True), name
        tab.send("open", request=1, path=name)
        assert "must not be hidden" in tab.hear("refused", request=1)["text"]
    tab.send("save", page=page, path=".git/new.page.json")
    assert "must not be hidden" in tab.hear("save refused")["text"]
    tab.send("list files")
    assert [each["path"] for each in tab.hear("files")["files"]] == ["seen.page.json"]
    assert studio.get("/api/file?path=./seen.page.json")[0] == 200


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a socket"])
def test_what_is_no_plain_file_is_refused_and_holds_up_nobody(studio, kind):
    path = page_file(studio.folder, "p", {"blocks": {}})
    tab, other = studio.tab(), studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, {"path": ["title"], "value": "new"})
    path.unlink()
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    else:
        with sockets.socket(sockets.AF_UNIX) as bound:
            bound.bind(str(path))
    for overwrite in (False, True):
        tab.send("save", page=page, overwrite=overwrite)
        told = tab.hear("save refused", 10)
        assert told["reason"] == "failed"
        assert "p.page.json" in told["text"]
    tab.send("revert", page=page)
    assert tab.hear("refused", 10, page=page)["text"]
    assert studio.ask("GET", "/api/file?path=p.page.json", Cookie=studio.cookie)[0] == 404
    os.rename(path, studio.folder / "q.page.json")
    tab.send("open", request=9, path="q.page.json")
    text = tab.hear("refused", 10, request=9)["text"]
    assert text.startswith("q.page.json cannot be opened. ")
    assert kind in text or kind == "a socket"
    tab.send("list files")
    assert tab.hear("files", 10)["files"] == []
    assert other.open()["page"]
    tab.send("save", page=page)
    assert tab.hear("saved", 10)["path"] == "p.page.json"


# -- messages -------------------------------------------------------------------------------------


class Raw(str):
    """JSON that Python does not write."""


def json_text(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    return json.dumps(value)


HOSTILE = [
    *(None, True, -1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64, 2**70, 10**400),
    *(0.5, 1e308, -1e-320, Raw("1e999"), Raw("NaN"), Raw("-Infinity"), Raw("-"), Raw("1" * 5000)),
    *("", "\0", "..", "../../x", "/", "a" * 100_000, "a:b", "\u202e", "new-", "x.page.json"),
    *(Raw('"\\ud800"'), Raw('"\\udc80.page.json"'), Raw('"\\ud800\\ud800"'), Raw('"\\x"')),
    *([], {}, [[]], [{}], {"": {}}, [-1, 2**70], [2**62, 2**62, 2**62], [[0, 2**62, 2**62]]),
    *(Raw("[" * 100_000 + "]" * 100_000), Raw('{"a":' * 100_000 + "1" + "}" * 100_000)),
    [{"path": ["blocks"], "value": 5}],
    [{"path": ["blocks"], "value": {"a": {"op": "Const", "attrs": {"value": 10**30}}}}],
    [{"path": ["blocks", "a"], "value": Raw("[" * 70 + "]" * 70)}],
    [{"path": ["x"] * 70, "value": 1}],
    [{"path": [], "value": 1}],
    [{"path": [2**64], "value": 1}],
    [{"path": ["format"], "value": 2**70}],
    [{"path": ["title"], "value": Raw('"\\ud800"')}],
    [{"path": ["run"], "value": {"fetch": 5, "steps": 10**30}}],
]
COMMANDS = typing.get_args(m.ClientMessages)


def hostile_message(command):
    """A message of this kind in which one or two fields are not what a browser would send."""
    usual = {}
    for field in msgspec.structs.fields(command):
        if field.required:
            usual[field.name] = {
                "page": 1,
                "pin": "a:output",
                "block": "a",
                "pins": ["a:output"],
                "edits": [{"path": ["title"], "value": "t"}],
                "to": "python",
                "what": "stop",
                "cell": [0],
            }.get(field.name, 1)
    names = [field.name for field in msgspec.structs.fields(command)] or ["unknown"]
    wrong = st.dictionaries(
        st.sampled_from(names), st.sampled_from(HOSTILE), min_size=1, max_size=2
    )
    return wrong.map(lambda found: {"kind": command.__struct_config__.tag, **usual, **found})


def unharmed(tab):
    """Whether the tab is still there, and nothing that it has heard so far is a fault of the studio."""
    tab.send("list files")
    tab.hear("files", 20)
    told = [json.dumps(each) for each in tab.heard if not isinstance(each, bytes)]
    tab.heard.clear()
    return not any("fault of backblocks" in each or "The studio failed" in each for each in told)


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: each.__name__)
def test_no_message_costs_the_tab_its_connection(shared, command):
    blocks = {"a": {"op": "Const", "attrs": {"value": [1, 2, 3]}}}
    page_file(shared.folder, "hostile", {"blocks": blocks})
    tab = shared.tab()
    page = tab.open(path="hostile.page.json")["page"]
    tab.run(page)

    @settings(
        max_examples=150,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(hostile_message(command))
    def attack(message):
        nonlocal page
        if type(message.get("page")) is int and message["page"] == 1:
            message = message | {"page": page}
        tab.socket.send(json_text(message))
        assert unharmed(tab), message
        if command in (m.Close, m.Change, m.Run, m.Save):
            for name in ("x", "0"):
                (shared.folder / f"{name}.page.json").unlink(missing_ok=True)
            tab.send("control", page=page, what="stop")
            tab.send("close", page=page)
            page_file(shared.folder, "hostile", {"blocks": blocks})
            page = tab.open(path="hostile.page.json")["page"]

    attack()
    tab.send("close", page=page)


def test_what_is_no_message_is_refused_with_the_number_that_it_has(shared):
    tab = shared.tab()
    page = tab.open()["page"]
    tab.send("read slice", page=page, request=44, pin="a:output", index=[2**64])
    assert "Expected `int`" in tab.hear("refused", request=44)["text"]
    deep = "[" * 100_000 + "]" * 100_000
    tab.socket.send(
        f'{{"kind": "change", "page": {page}, "client": "c", "number": 3, "edits": {deep}}}'
    )
    assert "cannot be understood" in tab.hear("refused", 10)["text"]
    tab.socket.send(b"bytes")
    assert "bytes instead of text" in tab.hear("refused", 10)["text"]
    assert unharmed(tab)


def test_a_page_of_numbers_beyond_64_bits_is_opened_checked_and_run(shared):
    value = {"dtype": "float32", "value": [10**30]}
    blocks = {
        "a": {"op": "Const", "attrs": {"value": value}},
        "b": {"op": "Neg", "in": {"x": 10**30}},
    }
    page_file(shared.folder, "big", {"blocks": blocks})
    tab = shared.tab()
    page = tab.open(path="big.page.json")["page"]
    assert tab.hear("checked", page=page)["pins"]
    assert tab.run(page)["state"] == "idle"
    assert unharmed(tab)


# -- connections ----------------------------------------------------------------------------------


def held(connections):
    """Those that the server has not ended."""
    alive = []
    for each in connections:
        try:
            if each.recv(1 << 16):
                alive.append(each)
        except BlockingIOError:
            alive.append(each)
        except ConnectionError:
            pass
    return alive


def test_connections_that_keep_the_server_waiting_are_ended(studio):
    address, port = studio.host.split(":")

    def connected(text):
        made = sockets.create_connection((address, int(port)))
        made.sendall(text)
        made.setblocking(False)
        return made

    head = f"Host: {studio.host}\r\n".encode()
    tab = studio.tab()
    made = [connected(b"GET / HTTP/1.1\r\nHost:" if n % 2 else b"") for n in range(400)]
    half_open = made
    try:
        time.sleep(1)
        half_open = held(half_open)
        assert len(half_open) <= MAX_CONNECTIONS
        assert studio.ask("GET", "/nowhere")[0] == 404  # they keep nobody out
        assert studio.tab().open()["page"]
        body = b"POST /enter HTTP/1.1\r\nContent-Length: 9\r\nOrigin: http://" + head[6:]
        slow_body = [connected(body + head + b"\r\n{") for _ in range(5)]
        idle = [connected(b"GET /nowhere HTTP/1.1\r\n" + head + b"\r\n") for _ in range(5)]
        half_open += idle
        made += slow_body + idle
        end = time.monotonic() + 30
        while half_open := held(half_open):
            for each in half_open:  # a letter now and then does not help
                if each not in idle:
                    with contextlib.suppress(OSError):
                        each.send(b"x")
            assert time.monotonic() < end
            time.sleep(0.5)
        while slow_body := held(slow_body):
            assert time.monotonic() < end
            time.sleep(0.5)
        assert unharmed(tab)
    finally:
        for each in made:
            each.close()
