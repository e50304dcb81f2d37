"""A small fixed piece of work whose time tells whether the machine is as fast as it was."""

from __future__ import annotations

import time
from collections.abc import Callable

SIZE = 128  # rows of the matrices: in every cache, and some two milliseconds
TRIES = 8
SLOWER = 1.10  # times its best from which it counts as slow
REST_SECONDS = 15.0  # the most that is rested before a round
REST_SHARE = 0.02  # and of a whole run: with turns and conditions, a tenth at most
REST_STEP = 1.0


class Canary:
    """A product of two matrices through NumPy, and how long it took at best since the canary was made.

    It is one of whole numbers, which no BLAS does and so no second thread: with threads it would tell of the load of other cores.
    """

    def __init__(self, sing: Callable[[], float] | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sing, self._sleep = sing or _product(), sleep
        self._began = time.monotonic()
        self._rested = 0.0
        self.best = float("inf")

    def seconds(self) -> float:
        """Its time now: the shortest of some tries, since whatever interrupts one is no sign of a slow machine."""
        seconds = self._sing()
        self.best = min(self.best, seconds)
        return seconds

    def rest(self) -> float:
        """Wait until the machine is within 10 % of its best, if that comes soon; the seconds that it took."""
        rested = 0.0
        allowed = min(REST_SECONDS, REST_SHARE * (time.monotonic() - self._began) - self._rested)
        while self.seconds() > SLOWER * self.best and rested + REST_STEP <= allowed:
            self._sleep(REST_STEP)
            rested += REST_STEP
        self._rested += rested
        return rested


def _product() -> Callable[[], float]:
    import numpy

    draw = numpy.random.RandomState(0)
    a, b = (draw.randint(0, 100, (SIZE, SIZE)).astype(numpy.int32) for _ in range(2))
    out = a @ b

    def sing() -> float:
        shortest = float("inf")
        for _ in range(TRIES):
            begin = time.perf_counter()
            numpy.matmul(a, b, out=out)
            shortest = min(shortest, time.perf_counter() - begin)
        return shortest

    return sing
