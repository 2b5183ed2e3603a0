"""What the server works on: read once, when it starts, and out of every tool's reach.

Problems are held in memory. A later change of their files, or of a chip's, is not seen: contract,
benchmark and chip of a session are those that it began with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from formwright.base.diagnostics import Diagnostic, InputError, fail
from formwright.contract.problem import Problem, Workload, load_problem
from formwright.flow.chips import open_chip


@dataclass(frozen=True, slots=True)
class FixedProblem:
    """``chip_text`` is the chip's file as it was read, empty for a chip by name."""

    problem: Problem
    chip_text: str = ""

    def workload(self, name: str) -> Workload:
        """The workload of that name, the first one for an empty name. Raises ``InputError``."""
        known = {w.name: w for w in self.problem.workloads}
        if not name:
            return self.problem.workloads[0]
        if name not in known:
            raise fail(
                f"{self.problem.name} has no such workload",
                hint=f"workloads: {', '.join(known)}",
            )
        return known[name]


@dataclass(frozen=True, slots=True)
class Fixed:
    """``out`` is resolved; ``population`` a file's absolute path or a database URL."""

    problems: Mapping[str, FixedProblem]
    population: str
    out: Path

    def problem(self, name: str) -> FixedProblem:
        """The problem of that name, the only one for an empty name. Raises ``InputError``."""
        names = ", ".join(self.problems)
        if not self.problems:
            raise fail(
                "the server was started without a problem: it has no contract to judge by",
                hint="start it as formwright mcp --problem FILE",
            )
        if not name and len(self.problems) == 1:
            return next(iter(self.problems.values()))
        if not name:
            raise fail("say which problem", hint=f"problems: {names}")
        if name not in self.problems:
            raise fail("the server has no such problem", hint=f"problems: {names}")
        return self.problems[name]


def fix(problems: Sequence[Path], population: str, out: Path) -> Fixed:
    """Reads problem files and makes ``out``. Raises ``InputError`` with the faults of all files."""
    found: dict[str, FixedProblem] = {}
    errors: list[InputError] = []
    for path in problems:
        try:
            problem = load_problem(path)
            if problem.name in found:
                raise fail(
                    f"two problems are called {problem.name}",
                    hint=f"give {path} another name",
                )
            found[problem.name] = FixedProblem(problem, _chip_text(problem))
        except InputError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]  # with the lines of its file
    if errors:
        raise InputError([d for error in errors for d in error.diagnostics])
    return Fixed(found, _place(population), _folder(out))


def _chip_text(problem: Problem) -> str:
    if not problem.chip.endswith(".toml"):
        return ""
    open_chip(problem.chip)  # its faults are told now
    return Path(problem.chip).read_text(encoding="utf-8")


def _place(population: str) -> str:
    return population if "://" in population else str(Path(population).absolute())


def _folder(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
        return out.resolve(strict=True)
    except OSError as error:
        told = Diagnostic(
            f"cannot use {out}: {error.strerror}", hint="name a folder that can be written"
        )
        raise InputError([told]) from None
