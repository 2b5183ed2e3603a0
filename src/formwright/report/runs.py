"""The table at the end of a run."""

from rich.console import Console

from formwright.flow.results import Interval, RunResult, WorkloadResult
from formwright.report.agents import print_agent
from formwright.report.tables import print_table, print_title
from formwright.report.tradeoffs import print_tradeoffs


def print_run(console: Console, result: RunResult) -> None:
    """A row for each workload: kernel, predicted and measured time, speed-up, artifact."""
    baselines = sorted({n for w in result.workloads for n in w.speedup})
    headings = ("workload", "shape", "measured", "predicted", *(f"over {n}" for n in baselines))
    rows = [
        (
            w.name,
            "x".join(str(v) for v in w.extents.values()),
            "-" if w.measured_seconds is None else f"{w.measured_seconds.median * 1e3:.3f} ms",
            "-" if w.predicted_seconds is None else f"{w.predicted_seconds * 1e3:.3f} ms",
            *(_speedup(w.speedup.get(n)) for n in baselines),
        )
        for w in result.workloads
    ]
    console.print()
    print_table(console, headings, rows, frozenset(range(2, len(headings))))
    for w in result.workloads:
        _print_details(console, w)
    if result.agent is not None:
        print_agent(console, result.agent)
    console.print(
        f"\n{result.problem} on {result.chip}, {result.threads} thread(s), {result.seconds:.0f} s;"
        f" journal {result.journal}",
        markup=False,
        soft_wrap=True,
    )


def _speedup(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    return f"{interval.median:.2f}x [{interval.low:.2f}, {interval.high:.2f}]"


def _print_details(console: Console, w: WorkloadResult) -> None:
    picked = ", ".join(f"{n} = {v}" for n, v in w.assignment.items())
    console.print()
    print_title(console, w.name, f": {w.template or 'nothing qualified'}")
    if picked:
        console.print(f"  {picked}", markup=False, soft_wrap=True)
    if w.prediction_error is not None:
        rank = "" if w.rank_correlation is None else f", rank correlation {w.rank_correlation:.2f}"
        console.print(f"  prediction error {w.prediction_error * 100:.1f} % in the mean{rank}")
    print_tradeoffs(console, w.tradeoffs)
    for name, why in w.missing_baselines.items():
        console.print(f"  not compared with {name}: {why}", markup=False, soft_wrap=True)
    for note in w.notes:
        console.print(f"  {note}", markup=False, soft_wrap=True)
    for reason in w.reasons:
        console.print(f"  {reason}", markup=False, soft_wrap=True)
    if w.artifact:
        console.print(f"  qualified: {w.artifact}", markup=False, soft_wrap=True)
