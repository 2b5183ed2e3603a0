"""A template at a glance on a terminal."""

from typing import Any

from rich.console import Console

from formwright.report.tables import print_title


def print_summary(console: Console, shown: dict[str, Any]) -> None:
    """Name, sizes and conditions, then the text itself."""
    points = f"{shown['points']:,} points in the menus"
    walls = sum(c["wall"] is not None for c in shown["constraints"].values())
    print_title(console, shown["name"], f": {' -> '.join(shown['levels'])}")
    console.print(
        f"{len(shown['decisions'])} decisions, {points}; {len(shown['constraints'])} constraints"
        f" ({walls} walls), {len(shown['requires'])} requirements"
    )
    if shown["step"] is not None:
        _print_step(console, shown["step"])
    console.print(f"digest {shown['digest'][:16]}\n")
    console.out(shown["text"], end="")


def _print_step(console: Console, step: dict[str, Any]) -> None:
    for word in ("coarse", "fine"):
        system = step[word]
        counts = (
            f"{len(system['state'])} state variables, {len(system['actions'])} actions"
            f" and {len(system['environment'])} of the surroundings"
        )
        console.print(f"{word} system {system['name']}: {counts}")
    console.print(
        f"{len(step['relation'])} clauses of the relation, {step['matches']} matches,"
        f" {step['picks']} picks, {step['rank']} terms of the rank"
    )


def print_chain_summary(console: Console, shown: dict[str, Any]) -> None:
    """The contract, then each step: what it makes finer, what it decides, what it needs."""
    print_title(console, shown["name"], f": {len(shown['steps'])} steps")
    console.print(f"computes {shown['workload']}", markup=False, soft_wrap=True)
    for step in shown["steps"]:
        console.print()
        print_title(console, step["name"], f": {' -> '.join(step['levels'])}")
        lines = [f"{step['object']['name']}: {step['object']['text']}"]
        menus = [f"{n} in {{{', '.join(map(str, m))}}}" for n, m in step["decisions"].items()]
        lines.append(f"decides {'; '.join(menus) or 'nothing'}")
        lines += [f"given {', '.join(step['given'])}"] if step["given"] else []
        lines += [f"requires {name}: {text}" for name, text in step["requires"].items()]
        for line in lines:
            console.print(f"  {line}", markup=False, soft_wrap=True)
    for name, text in shown["assumptions"].items():
        console.print(f"\nassumes {name}: {text}", markup=False, soft_wrap=True)
