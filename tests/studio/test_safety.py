"""Nobody but the studio's own page, let in by the printed address, can ask the server for anything."""

import json
import os
import socket as sockets

import pytest
from conftest import page_file
from websockets.exceptions import InvalidMessage, InvalidStatus
from websockets.sync.client import connect

from backblocks.studio.app import create_app
from backblocks.studio.drafts import State
from backblocks.studio.guard import Keys

SOCKET = "/socket"
GETS = ["/api/file?path=a.page.json", "/api/value?page=1&pin=a:output"]
POSTS = ["/enter", "/api/array?page=1&name=x.npy"]
STATIC = ["/", "/ops.json", "/assets/index.js", "/../pyproject.toml", "/%2e%2e/app.py"]
MALICE = "https://evil.example"


def routes(tmp_path):
    """The paths of the application, with what they take."""
    app = create_app(tmp_path, Keys(1), [], 1, state=State(tmp_path / "state")).app
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
    tab.send("change", page=page, number=5, edits=[{"path": ["blocks", "x"], "value": deep}])
    assert tab.hear("refused", number=5)
    assert tab.open()["page"]
