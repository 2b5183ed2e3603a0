"""A requalification on a terminal."""

from rich.console import Console

from formwright.qualify.requalify import Requalification
from formwright.report.tables import print_title


def print_requalification(console: Console, result: Requalification) -> None:
    """What changed and which evidence that voids; then the checks that were run again."""
    verdict = "held" if result.held else "not met"
    print_title(console, f"{result.folder.name}: {verdict}")
    for change in result.changes:
        console.print(
            f"  {change.fact} changed: {change.recorded} -> {change.now}",
            markup=False,
            soft_wrap=True,
        )
        console.print(f"    no longer applies: {change.voids}", markup=False, soft_wrap=True)
    if result.renewed:
        console.print(f"  renewed in the record: {', '.join(result.renewed)}")
    if result.validation is None:
        console.print("  nothing was run")
        return
    for check in result.validation.checks:
        line = check.name if check.verdict == "held" else check.message
        console.print(f"  {check.verdict:10} {line}", markup=False, soft_wrap=True)
    console.print(
        f"  {len(result.validation.runs)} runs (tested), {result.validation.seconds:.1f} s"
    )
