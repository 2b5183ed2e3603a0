"""Several problems in one run, each with a folder and a journal of its own."""

from collections.abc import Sequence
from pathlib import Path

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.contract.problem import load_problem
from formwright.flow.executor import Executor
from formwright.flow.options import Options
from formwright.flow.results import RunResult
from formwright.flow.run import run_problem
from formwright.flow.setting import Listener


def run_problems(
    paths: Sequence[Path],
    out: Path,
    settings: str,
    listener: Listener,
    options: Options | None = None,
    executor: Executor | None = None,
) -> tuple[RunResult, ...]:
    """Run the problems of ``paths`` in order; with more than one, each under ``out / NAME``.

    All files are read before the first run begins, so that a fault of the last one costs no
    time. What :func:`run_problem` says of going on holds for each.

    Raises:
        InputError: a fault of a file, two problems of one name, or ``settings`` (the extents of
            one operator) with several files.
    """
    if len(paths) == 1:
        return (run_problem(paths[0], out, settings, listener, options, executor),)
    if settings:
        told = "--set names the extents of one problem, and there are several"
        raise InputError([Diagnostic(told, hint="give one problem file with --set")])
    results: list[RunResult] = []
    for path, folder in _folders(paths, out):
        listener.done(f"— {path.name}")
        results.append(run_problem(path, folder, "", listener, options, executor))
    return tuple(results)


def _folders(paths: Sequence[Path], out: Path) -> list[tuple[Path, Path]]:
    names: dict[str, Path] = {}
    faults: list[Diagnostic] = []
    for path in paths:
        name = load_problem(path).name
        if name in names:
            told = f'{path} and {names[name]} are both called "{name}"'
            faults.append(Diagnostic(told, hint="give each problem a name of its own"))
        names.setdefault(name, path)
    if faults:
        raise InputError(faults)
    return [(path, out / name) for name, path in names.items()]
