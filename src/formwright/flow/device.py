"""Where the figures of a run come from: this machine, or the journal of an earlier run.

The second is for repeating a run: the same transcript, chip and figures give the same decisions on
any machine. Nothing that it gives is a measurement of now, and nothing is qualified with it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from formwright.base.diagnostics import fail

Timing = dict[str, Any]

STEPS: Final = ("measure", "final", "confirm", "throughput", "kernel", "baselines")
"""What the keys of measuring steps begin with."""

ABOUT: Final = ("chip", "agent", "machine")
"""What keys of steps begin with that say which chip and machines the figures are of."""


class Device(Protocol):
    """``timed`` gives what the step ``key`` measured; ``compute`` measures it here."""

    @property
    def replayed(self) -> str:
        """Which record the figures are from; empty for this machine."""
        ...

    def about(self, step: str) -> dict[str, Any] | None:
        """What the record says in a step of :data:`ABOUT`; ``None`` on this machine."""
        ...

    def timed(self, key: str, names: tuple[str, ...], compute: Callable[[], Timing]) -> Timing: ...


@dataclass(frozen=True, slots=True)
class Here:
    """The machine that measures, now. ``wall_seconds`` says how long a measurement took."""

    replayed: str = ""

    def about(self, step: str) -> dict[str, Any] | None:
        return None

    def timed(self, key: str, names: tuple[str, ...], compute: Callable[[], Timing]) -> Timing:
        return compute()


@dataclass(frozen=True, slots=True)
class Recorded:
    """The measuring steps of the journal at ``path``."""

    path: Path
    entries: dict[str, dict[str, Any]] = field(repr=False)

    @property
    def replayed(self) -> str:
        return self.path.name

    def about(self, step: str) -> dict[str, Any] | None:
        entry = self.entries.get(step)
        return None if entry is None else dict(entry["data"])

    def timed(self, key: str, names: tuple[str, ...], compute: Callable[[], Timing]) -> Timing:
        """Raises ``InputError`` where the record has no such step, or not of these programs."""
        entry = self.entries.get(key)
        if entry is None:
            raise self._other(f"no measurement {key}")
        found: Timing = entry["data"]
        programs = found.get("programs", found)
        missing = [n for n in names if n not in programs]
        if missing:
            raise self._other(f"no measurement of {', '.join(missing)} in {key}")
        return {**found, "replayed": {"record": self.replayed, "entry": entry["number"]}}

    def _other(self, told: str) -> Exception:
        hint = "the run went another way: same problem, transcript and version?"
        return fail(f"{self.path} has {told}", hint=hint)


def recorded(path: Path) -> Recorded:
    """The measurements of a run's journal (``DIR/journal.jsonl`` or ``DIR``).

    Raises ``InputError`` for a file that is none.
    """
    path = path / "journal.jsonl" if path.is_dir() else path
    found: dict[str, dict[str, Any]] = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if str(entry["key"]).split("/")[0] in (*STEPS, *ABOUT):
                found[str(entry["key"])] = {"number": int(entry["number"]), "data": entry["data"]}
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror}", hint="name a run's folder") from None
    except (ValueError, KeyError, TypeError):
        raise fail(f"{path} is no journal of a run", hint="name a run's folder") from None
    return Recorded(path, found)
