"""Runners repeat a run: a number of steps, until a condition holds, or until they are stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from backblocks.errors import OpError, described
from backblocks.graph.events import Cancelled
from backblocks.graph.session import Session
from backblocks.graph.symbol import Symbol
from backblocks.ops._kernels import Stop

State = Literal["stopped", "running", "paused"]
Feeds = Mapping[Any, Any] | Callable[[int], Mapping[Any, Any]] | None
Listener = Callable[[int, list[Any]], None]


class Runner:
    """Repeats one run of a session. Each run is a step.

        runner = bb.Runner(session, [loss], targets=[train])
        runner.run(steps=100)                  # here, and gives the values of the last step
        runner.start(until="converged")        # in the background; wait() for its end
        runner.pause(); runner.step(); runner.go_on(); runner.stop()

    `feeds` may be a function that is given the number of the step, from 0 on. `until` is a symbol of one
    truth value: the step in which it is true is the last.
    """

    def __init__(
        self,
        session: Session,
        fetches: Iterable[Any] = (),
        feeds: Feeds = None,
        targets: Iterable[Any] = (),
    ) -> None:
        self.session = session
        self.fetches = list(fetches)
        self.feeds = feeds
        self.targets = list(targets)
        self.count = 0
        """Steps since the last reset."""
        self._listeners: list[Listener] = []
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._values: list[Any] = []
        self._changed = threading.Condition()
        self._busy = self._paused = self._stopping = False
        self._singles = 0
        """Steps asked for one by one that have not begun."""
        self._begun = self._over = 0
        """How many steps have begun, and how many of them are over."""
        self._stop = Stop()
        self._worker: int | None = None
        """The thread that makes the steps."""

    @property
    def state(self) -> State:
        return "stopped" if not self._busy else "paused" if self._paused else "running"

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` after each step with the number of steps so far and the values fetched.

        Gives a function that unsubscribes it.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    # -- running --------------------------------------------------------------------------

    def run(self, steps: int | None = None, until: Any = None) -> list[Any]:
        """Runs here, and gives what was fetched in the last step. With neither bound it runs once."""
        self._begin(steps, until)
        return self._repeat(1 if steps is None and until is None else steps, until)

    def start(self, steps: int | None = None, until: Any = None) -> None:
        """Runs in the background; without a bound until it is told to stop."""
        self._begin(steps, until)
        self._thread = threading.Thread(
            target=self._in_background, args=(steps, until), name="runner", daemon=True
        )
        self._thread.start()

    def wait(self, seconds: float | None = None) -> list[Any]:
        """Waits for what was started, and gives what was fetched in its last step.

        What went wrong in it is raised here.
        """
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                raise TimeoutError(f"still running after {seconds} s, at step {self.count}")
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._values

    def pause(self) -> None:
        """Holds what runs after the step it is in. `step` and `go_on` continue it."""
        with self._changed:
            self._paused = self._busy
            self._changed.notify_all()

    def go_on(self) -> None:
        with self._changed:
            self._paused, self._singles = False, 0
            self._changed.notify_all()

    def step(self) -> None:
        """One step: of what is paused in the background, else here and now.

        It is over when this returns, unless a listener calls it: the step it is in comes to its end first.
        """
        with self._changed:
            if self._busy and self._paused:
                self._singles += 1
                mine = self._begun + self._singles
                self._changed.notify_all()
                if not self._is_listener_waiting():
                    self._changed.wait_for(lambda: self._over >= mine)
                return
        self.run(steps=1)

    def stop(self, now: bool = False) -> None:
        """Ends what was started after the step it is in, or `now` within it, and waits for it.

        A listener does not wait, since the step waits for it.
        """
        with self._changed:
            self._stopping = self._busy
            if now:
                self._stop.set()
            self._changed.notify_all()
            if not self._is_listener_waiting():
                self._changed.wait_for(lambda: not self._busy)

    def reset(self) -> None:
        """Stops, and lets variables and steps start again."""
        self.stop(now=True)
        self.session.reset()
        self.count = 0

    # -- the parts of it ------------------------------------------------------------------

    def _is_listener_waiting(self) -> bool:
        """Whether the calling thread is inside a listener, for which the step waits."""
        return self.session.is_notifying or self._worker == threading.get_ident()

    def _begin(self, steps: int | None, until: Any) -> None:
        if steps is not None and (not isinstance(steps, int) or steps < 0):
            hint = "Leave it out to run without a bound."
            raise OpError(
                "must be a whole number from 0 on", op="Runner", arg="steps", got=steps, hint=hint
            )
        if until is not None:
            check_condition(self.session.symbol(until, "until"))
        with self._changed:
            if self._busy:
                raise OpError(
                    "is at work already", op="Runner", arg="run", hint="Pause or stop it first."
                )
            self._busy, self._paused, self._stopping = True, False, False
            self._values, self._error, self._stop = [], None, Stop()

    def _in_background(self, steps: int | None, until: Any) -> None:
        try:
            self._repeat(steps, until)
        except BaseException as error:  # raised where somebody waits for it
            self._error = error

    def _repeat(self, steps: int | None, until: Any) -> list[Any]:
        self._worker = threading.get_ident()
        try:
            left = steps
            while left is None or left > 0:
                if not self._may_continue() or self._one(until):
                    break
                left = None if left is None else left - 1
            return self._values
        except Cancelled:
            if not self._stopping:
                raise
            return self._values
        finally:
            with self._changed:
                self._busy = self._paused = False
                self._begun += self._singles  # which nobody is to wait for any longer
                self._over, self._singles = self._begun, 0
                self._worker = None
                self._changed.notify_all()

    def _may_continue(self) -> bool:
        with self._changed:
            self._over = self._begun
            self._changed.notify_all()
            while self._paused and not self._singles and not self._stopping:
                self._changed.wait()
            if self._stopping:
                return False
            self._begun += 1
            self._singles = max(self._singles - 1, 0)
            return True

    def _one(self, until: Any) -> bool:
        """Makes a step, and says whether it was the last."""
        feeds = self.feeds(self.count) if callable(self.feeds) else self.feeds
        wanted = self.fetches if until is None else [*self.fetches, until]
        values = self.session.run(wanted, feeds, self.targets, stop=self._stop)
        over = until is not None and bool(values.pop().all())
        self.count += 1
        self._values = values
        for listener in tuple(self._listeners):
            listener(self.count, values)
        return over


def check_condition(symbol: Symbol) -> None:
    """Refuses a condition that is not one truth value."""
    if symbol.dtype != bool or symbol.shape != ():
        raise OpError(
            "must be one truth value",
            op="Runner",
            arg="until",
            got=described(f"{symbol.name}, {symbol.spec}"),
            hint="Compare it, such as with Less, and join several with All.",
        )
