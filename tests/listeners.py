"""Who is told how a run or a study goes, in tests."""

from dataclasses import dataclass, field


class Silent:
    """Nobody listens."""

    def stage(self, text: str, done: int = 0, total: int = 0) -> None: ...

    def done(self, text: str) -> None: ...


@dataclass
class Heard:
    """Keeps what was said to be done."""

    told: list[str] = field(default_factory=list)

    def stage(self, text: str, done: int = 0, total: int = 0) -> None: ...

    def done(self, text: str) -> None:
        self.told.append(text)
