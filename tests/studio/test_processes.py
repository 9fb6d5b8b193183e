"""The server computes nothing: whatever a page does to a process that computes, server and tabs live on."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import page_file

from backblocks.studio import ipc, process_pool
from backblocks.studio.process_pool import ProcessPool, TaskError

NEG = {"a": {"op": "Const", "attrs": {"value": {"dtype": "float32", "value": [1, 2]}}}}


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


# -- what the server loads ------------------------------------------------------------------------


def test_the_server_imports_nothing_of_ops_and_graphs():
    code = "import sys, backblocks.studio.server; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    loaded = done.stdout.split()
    assert "backblocks.studio.open_pages" in loaded
    wrong = ("numpy", "ml_dtypes", "backblocks.ops", "backblocks.graph", "backblocks.dtypes")
    assert [name for name in loaded if name.startswith(wrong)] == []


def test_whatever_tabs_ask_for_the_server_never_loads_what_computes(studio):
    page_file(studio.folder, "p", {"blocks": NEG})
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    assert tab.hear("checked")["pins"]
    assert tab.hear("checked")["peak_bytes"] >= 0
    for to in ("python", "tensorflow", "page"):
        tab.send("export", page=page, request=7, to=to)
        assert tab.hear("exported")["text"]
    large = np.zeros(1000)
    assert studio.post(f"/api/array?page={page}&name=x.npz", npz(x=large))[0] == 200
    tab.change(page, {"path": ["title"], "value": "new"})
    tab.send("save", page=page)
    assert tab.hear("saved")
    tab.send("save", page=page, path="other/q.page.json")
    assert tab.hear("saved")["path"] == "other/q.page.json"
    assert "problem" not in tab.run(page)
    assert studio.get(f"/api/value?page={page}&pin=a:output")[0] == 200
    loaded = Path(f"/proc/{studio.process.pid}/maps").read_text()
    assert "python" in loaded
    assert "numpy" not in loaded
    assert "_native" not in loaded
    (worker,) = studio.processes("studio.run_worker")
    assert "_native" in Path(f"/proc/{worker}/maps").read_text()


# -- processes that end ---------------------------------------------------------------------------


def stop_tasks(studio):
    """Stops the process that checks pages, as an endless loop would, once it is idle."""
    (process,) = studio.processes("studio.pool_worker")
    os.kill(process, signal.SIGSTOP)
    return process


@pytest.mark.parametrize(
    ("how", "words"), [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "memory ran out")]
)
def test_a_check_that_ends_its_process_is_told_and_the_next_edit_is_checked(studio, how, words):
    page_file(studio.folder, "p", {"blocks": NEG})
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.hear("checked")
    tab.hear("checked")  # with its memory
    process = stop_tasks(studio)
    tab.change(page, {"path": ["title"], "value": "crash"})
    os.kill(process, how)
    os.kill(process, signal.SIGCONT)
    (problem,) = tab.hear("checked", revision=1)["problems"]
    assert "could not check this page" in problem["text"]
    assert words in problem["text"]
    assert "Undo the last change" in problem["hint"]
    tab.change(page, {"path": ["title"], "value": "better"})
    assert tab.hear("checked", revision=2)["problems"] == []
    assert studio.process.poll() is None


def test_a_check_that_hangs_holds_up_no_other_page(studio):
    for name in ("p", "q"):
        page_file(studio.folder, name, {"blocks": NEG})
    tab = studio.tab()
    pages = {}
    for name in ("p", "q"):
        pages[name] = tab.open(path=f"{name}.page.json")["page"]
        tab.hear("checked", page=pages[name])
        tab.hear("checked", page=pages[name])
    stop_tasks(studio)
    tab.change(pages["p"], {"path": ["title"], "value": "hangs"})
    tab.change(pages["q"], {"path": ["title"], "value": "is well"})
    assert tab.hear("checked", 10, page=pages["q"], revision=1)["problems"] == []
    tab.send("save", page=pages["q"])
    assert tab.hear("saved", 10, page=pages["q"])


def test_a_change_does_not_wait_for_a_check_that_hangs(studio):
    page_file(studio.folder, "p", {"blocks": NEG})
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.hear("checked", page=page)
    tab.hear("checked", page=page)
    for number in (1, 3, 5):
        for process in studio.processes("studio.pool_worker"):
            os.kill(process, signal.SIGSTOP)
        tab.change(page, {"path": ["title"], "value": "hangs"})
        time.sleep(0.5)
        tab.change(page, {"path": ["title"], "value": "is well"})
        assert tab.hear("checked", 8, revision=number + 1)["problems"] == []


def test_an_export_that_hangs_holds_up_no_change_of_its_tab(studio):
    page_file(studio.folder, "p", {"blocks": NEG})
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.hear("checked", page=page)
    tab.hear("checked", page=page)
    process = stop_tasks(studio)
    tab.send("export", page=page, request=7, to="python")
    time.sleep(0.2)
    tab.send_change(page, {"path": ["title"], "value": "new"})
    assert tab.hear("changed", 10)
    assert tab.hear("checked", 10, revision=1)["problems"] == []
    os.kill(process, signal.SIGCONT)
    assert "raw_ops" in tab.hear("exported", 10, request=7)["text"]


def test_checks_do_not_wait_for_a_run(studio):
    slow = {"op": "MatMul", "in": {"a": "a:output", "b": "a:output"}}
    ones = {"op": "Fill", "in": {"dims": [6000, 6000], "value": 1.0}}
    page_file(studio.folder, "p", {"blocks": {"a": ones, "b": slow}})
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.hear("checked")
    tab.send("run", page=page, mode="free")
    tab.hear("run state", state="running")
    for number in range(1, 6):
        begun = time.monotonic()
        tab.change(page, {"path": ["title"], "value": str(number)})
        tab.hear("checked", revision=number)
        assert time.monotonic() - begun < 1
    (worker,) = studio.processes("studio.run_worker")
    assert worker not in studio.processes("studio.pool_worker")
    tab.send("control", page=page, what="stop")
    tab.hear("run state", state="idle")


# -- the pool -------------------------------------------------------------------------------------


def in_pool(work, **limits):
    """What `work`, given a pool, returns."""

    async def main():
        pool = ProcessPool(**limits)
        try:
            return await work(pool)
        finally:
            await pool.end()

    return asyncio.run(main())


def check_of(tmp_path, blocks=NEG):
    return ipc.CheckPage(1, 0, {"format": 1, "blocks": blocks}, str(tmp_path / "p.page.json"))


def test_a_task_that_hangs_is_ended_and_the_next_has_a_new_process(tmp_path, monkeypatch):
    async def work(pool):
        await pool.run(check_of(tmp_path))
        (process,) = pool._all
        monkeypatch.setattr(ipc.CheckPage, "seconds", 0.5)
        os.kill(process.process.pid, signal.SIGSTOP)
        with pytest.raises(
            TaskError, match=r"could not check this page: it took longer than 0.5 s"
        ):
            await pool.run(check_of(tmp_path))
        monkeypatch.setattr(ipc.CheckPage, "seconds", 60)
        found = await pool.run(check_of(tmp_path))
        assert process not in pool._all
        return found

    assert in_pool(work).pins["a:output"].shape == [2]


def test_a_task_that_takes_too_much_memory_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(process_pool, "_LEAST_MEMORY", 1 << 29)
    monkeypatch.setattr(process_pool, "machine_bytes", lambda: 1 << 29)
    with open(tmp_path / "x", "wb") as file:
        head = {"descr": "|i1", "fortran_order": False, "shape": (1 << 29,)}
        np.lib.format.write_array_header_1_0(file, head)
        file.truncate(file.tell() + (1 << 29))

    async def work(pool):
        whole = ipc.ImportArrays(str(tmp_path / "x"), "x.npy", str(tmp_path / "p"), {})
        with pytest.raises(TaskError, match="memory"):
            await pool.run(whole)
        return await pool.run(check_of(tmp_path))

    assert in_pool(work).pins


def test_a_task_of_a_caller_that_no_longer_waits_costs_no_process(tmp_path):
    async def work(pool):
        await pool.run(check_of(tmp_path))
        before = set(pool._all)
        asked = asyncio.create_task(pool.run(check_of(tmp_path)))
        await asyncio.sleep(0)
        asked.cancel()
        assert (await pool.run(check_of(tmp_path))).pins
        return before, set(pool._all)

    before, after = in_pool(work)
    assert before <= after


def test_a_task_that_hangs_ends_soon_after_its_caller_is_cancelled(tmp_path):
    async def work(pool):
        await pool.run(check_of(tmp_path))
        (process,) = pool._all
        os.kill(process.process.pid, signal.SIGSTOP)
        asked = asyncio.create_task(pool.run(check_of(tmp_path)))
        await asyncio.sleep(0.1)
        asked.cancel()
        return await asyncio.to_thread(process.process.wait, 10)

    assert in_pool(work) == -signal.SIGKILL


def test_a_fault_of_ours_is_told_with_what_to_send(tmp_path):
    async def work(pool):
        with pytest.raises(TaskError) as told:
            await pool.run(ipc.ExportPage({"format": 1, "blocks": 5}, 7, "python"))
        return str(told.value)

    text = in_pool(work)
    assert "a fault of backblocks" in text
    assert "send this text" in text


def test_numbers_of_any_size_and_texts_go_to_a_process(tmp_path):
    blocks = {"a": {"op": "Const", "attrs": {"value": {"dtype": "int8", "value": 10**30}}}}

    async def work(pool):
        return await pool.run(check_of(tmp_path, blocks))

    assert in_pool(work).problems
