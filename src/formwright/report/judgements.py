"""The judgement of a kernel that somebody else wrote, on a terminal."""

from rich.console import Console

from formwright.contract.relation import told
from formwright.flow.judging import Judgement
from formwright.qualify.qualification import OURS, Qualification
from formwright.report.tables import print_title


def print_judgement(console: Console, judged: Judgement) -> None:
    """The verdict, the reasons why not, and what the times were."""
    verdict = "held" if judged.held else "refused"
    said = [told(judged.contract.relation)]
    if judged.contract.stages != "f32":
        said.append(f"stages in {judged.contract.stages}")
    allowed = "".join(f", {words}" for words in said if words)
    what = f" as {judged.contract.operator}{allowed}"
    print_title(console, f"{judged.name}: {verdict}", what)
    console.print("  template: none, nothing is proved; what follows is tested and measured")
    for name, result in judged.results.items():
        _print_shape(console, name, result)


def _print_shape(console: Console, name: str, result: Qualification) -> None:
    validation = result.validation
    held = sum(1 for c in validation.checks if c.verdict == "held")
    console.print(
        f"  {name}: {held} of {len(validation.checks)} checks held in {len(validation.runs)} runs"
        f" ({validation.seconds:.1f} s, sandbox {validation.sandbox})"
    )
    for reason in result.reasons:
        console.print(f"    refused: {reason}", markup=False, soft_wrap=True)
    for program, timed in result.timing.get("programs", {}).items():
        shown = program if program != OURS else "this kernel"
        if "failure" in timed:
            console.print(f"    {shown}: {timed['failure']}", markup=False, soft_wrap=True)
        else:
            seconds = timed["seconds"]
            console.print(
                f"    {shown}: {seconds['median'] * 1e3:.4g} ms"
                f" ({seconds['low'] * 1e3:.4g} .. {seconds['high'] * 1e3:.4g}, measured)"
            )
    if result.folder is not None:
        console.print(f"    record: {result.folder / 'record.json'}", markup=False, soft_wrap=True)
