"""Who is told how long work goes."""

from typing import Protocol


class Listener(Protocol):
    """``stage`` says what is being done now, ``done`` what came of it.

    Where pieces are alike, ``done`` of ``total`` are finished: how long the rest takes follows.
    """

    def stage(self, text: str, done: int = 0, total: int = 0) -> None: ...

    def done(self, text: str) -> None: ...
