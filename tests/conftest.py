"""What holds for all tests."""

import signal
import sys
from pathlib import Path

from hypothesis import settings

# The fuzzers, which some tests share.
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

# Shells have what they start in the background ignore Ctrl-C, and that is handed on to children. Tests of
# Ctrl-C are to find it as it is in the foreground.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes depends on what else the machine does.
settings.register_profile("unhurried", parent=settings.default, deadline=None)
settings.load_profile("unhurried")
