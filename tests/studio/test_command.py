"""`backblocks studio`: how it starts, and what it says when it cannot."""

import contextlib
import hashlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Studio, page_file

COMMAND = str(Path(sys.executable).with_name("backblocks"))


def told(*arguments, **environment):
    """What a command that cannot be followed says."""
    done = subprocess.run(  # noqa: S603
        [COMMAND, "studio", *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_it_prints_one_line_and_serves_before_the_library_is_loaded(studio):
    assert re.fullmatch(r"backblocks studio: http://127\.0\.0\.1:\d+/#token=\S+\n", studio.line)
    code = "import sys, backblocks.studio.server; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "False\n"
    begun = time.monotonic()
    assert studio.tab().heard[0]["lessons"]
    assert time.monotonic() - begun < 2


def test_a_page_is_opened_first_and_its_folder_is_the_place(tmp_path):
    page_file(tmp_path, "p", {"blocks": {}})
    studio = Studio(tmp_path / "p.page.json", tmp_path / "state")
    try:
        welcome = studio.tab().heard[0]
        assert (welcome["start"], welcome["folder"]) == ("p.page.json", str(tmp_path))
    finally:
        studio.end()


def test_another_port_is_taken_if_the_usual_one_is(tmp_path):
    with socket.socket() as busy:
        busy.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            busy.bind(("127.0.0.1", 8765))
            busy.listen()
        except OSError:
            pass  # somebody else has it
        studio = Studio(tmp_path, tmp_path / "state")
        try:
            assert studio.host.partition(":")[2] != "8765"
            assert studio.tab()
        finally:
            studio.end()


@pytest.mark.parametrize("port", ["0", "65536", "8765x"])
def test_a_port_that_is_none_is_said(port):
    assert "must be a whole number from 1 to 65535" in told("--port", port, "--no-browser")


def test_a_port_that_is_asked_for_and_taken_is_said():
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = str(busy.getsockname()[1])
        text = told("--no-browser", "--port", port)
    assert "--port" in text
    assert port in text


def test_lessons_open_as_pages_without_a_file_and_run(shared):
    tab = shared.tab()
    names = [lesson["name"] for lesson in tab.heard[0]["lessons"]]
    assert "max_pool_3d_grad" in names
    opened = tab.open(lesson="max_pool_3d_grad")
    assert opened["unsaved"]
    assert opened["document"]["title"]
    assert "problem" not in tab.run(opened["page"])
    tab.send("open", request=50, lesson="../../etc/passwd")
    assert tab.hear("refused", request=50)


def test_what_is_no_page_is_said():
    assert "must be a page or a folder" in told("nowhere.page.json", "--no-browser")


def test_without_the_extra_it_says_how_to_install_it(tmp_path):
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from backblocks.cli import main; sys.exit(main(['studio', '--no-browser']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert 'pip install "backblocks[studio]"' in done.stderr


@pytest.mark.parametrize("password", ["", "short"])
def test_other_machines_reach_it_only_with_a_password(password):
    text = told("--no-browser", "--host", "0.0.0.0", BACKBLOCKS_PASSWORD=password)  # noqa: S104
    assert "password of at least 8" in text


def test_with_a_password_others_are_let_in_by_it(tmp_path, monkeypatch):
    monkeypatch.setenv("BACKBLOCKS_PASSWORD", "correct horse")
    studio = Studio(tmp_path, tmp_path / "state", "--host", "0.0.0.0")  # noqa: S104
    own = {"Origin": f"http://{studio.host}"}
    try:
        assert studio.ask("POST", "/enter", b'{"password": "wrong horse"}', **own)[0] == 403
        for _ in range(2):
            body = b'{"password": "correct horse"}'
            assert studio.ask("POST", "/enter", body, **own)[0] == 200
        port = studio.host.partition(":")[2]
        assert studio.ask("GET", "/", Host=f"192.168.0.7:{port}")[0] != 400
        assert studio.ask("GET", "/", Host=f"evil.example:{port}")[0] == 400
    finally:
        studio.end()


def test_ctrl_c_ends_it_in_peace_and_its_processes_with_it(tmp_path):
    studio = Studio(tmp_path, tmp_path / "state")
    studio.tab().open()
    children = studio.processes()
    assert len(children) == 2  # one for runs, one for checks
    studio.end()
    assert studio.process.returncode == 0
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def is_alive(process):
    about = Path(f"/proc/{process}/stat")
    return about.exists() and "Z" not in about.read_text().rpartition(")")[2]


def test_its_processes_end_when_it_is_killed(tmp_path):
    studio = Studio(tmp_path, tmp_path / "state")
    studio.tab().open()
    children = studio.processes()
    studio.kill()
    end = time.monotonic() + 30
    while any(map(is_alive, children)):
        assert time.monotonic() < end
        time.sleep(0.1)
    studio.end()


@pytest.mark.parametrize("hangs", ["a check", "a save", "a thread"])
def test_two_ctrl_c_always_end_it(tmp_path, hangs):
    (tmp_path / "work").mkdir()
    path = page_file(tmp_path / "work", "p", {"blocks": {}})
    page_file(tmp_path / "work", "q", {"blocks": {}})
    studio = Studio(tmp_path / "work", tmp_path / "state")
    tab = studio.tab()
    page = tab.open(path="q.page.json")["page"]
    tab.hear("checked")
    if hangs == "a thread":  # a disk that never answers
        name = hashlib.sha256(os.fsencode(path)).hexdigest()[:24]
        os.mkfifo(tmp_path / "state/backblocks/drafts" / f"{name}.jsonl")
        tab.send("open", request=5, path="p.page.json")
    else:
        for process in studio.processes("studio.pool_worker"):
            os.kill(process, signal.SIGSTOP)
        tab.change(page, {"path": ["title"], "value": "x"})
        if hangs == "a save":
            tab.send("save", page=page)
    time.sleep(0.5)
    children = studio.processes()
    assert len(children) >= 2
    studio.process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        studio.process.wait(3)
        assert studio.process.returncode == 0
    if studio.process.poll() is None:
        studio.process.send_signal(signal.SIGINT)
        assert studio.process.wait(5) == -signal.SIGINT
    end = time.monotonic() + 10
    while any(map(is_alive, children)):
        assert time.monotonic() < end
        time.sleep(0.1)
    studio.end()
