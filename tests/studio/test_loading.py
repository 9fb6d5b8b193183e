"""The library is loaded while the studio is used already, by whichever threads need it first."""

import subprocess
import sys

import pytest

AT_ONCE = """
import sys, threading
from pathlib import Path
from backblocks.studio import app, open_pages

sys.setswitchinterval(1e-6)
start, failed = threading.Barrier(4), []

def begin(work, *given):
    start.wait()
    try:
        work(*given)
    except ImportError as error:
        failed.append(error)
    except OSError:
        pass  # there is no such file

threads = [
    threading.Thread(target=begin, args=work)
    for work in (
        (open_pages.load_library,),
        (app._constants, Path("none.npy"), "none.npy", Path()),
        (open_pages._checked, 1, 1, {"format": 1, "blocks": {}}, Path("a.page.json")),
        (app._constants, Path("none.npz"), "none.npz", Path()),
    )
]
for each in threads:
    each.start()
for each in threads:
    each.join()
sys.exit(str(failed) if failed else 0)
"""


@pytest.mark.parametrize("attempt", range(4))
def test_threads_that_need_it_at_once_find_it_whole(attempt):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", AT_ONCE], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
