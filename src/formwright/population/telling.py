"""What is known of a template, in lines of text: for prompts and for terminals."""

from collections.abc import Iterable

from formwright.population.entries import Entry, Fact, KeptFact, Met


def standing_line(entry: Entry) -> str:
    """What may be claimed of an entry, in a word and its reason."""
    if entry.evidence == "proved":
        return "proved"
    place = "reopened" if entry.reopened else f"on the shelf, evidence {entry.evidence}"
    return f"{place}: {entry.reason}"


def fact_line(kept: KeptFact) -> str:
    """A figure with all that it is about; one that is reopened says why."""
    fact = kept.fact
    line = f"{figure(fact)} {fact.evidence} for {work_line(fact)} on {fact.chip.name}"
    if fact.machine and fact.machine != fact.chip.name:
        line += f" ({fact.machine})"
    if fact.imported:
        line += ", imported"
    return line if kept.standing == "holds" else f"{line}; reopened: {kept.why}"


def figure(fact: Fact) -> str:
    """The value in its unit, with what bounds it."""
    line = f"{fact.quantity} {fact.value:.6g} {fact.unit}".rstrip()
    if fact.low is None or fact.high is None:
        return line
    return f"{line} ({fact.low:.4g} to {fact.high:.4g})"


def work_line(fact: Fact) -> str:
    """Operator, extents, element types that are not f32, and threads."""
    work = fact.work
    shape = " ".join(f"{n}={v}" for n, v in work.extents.items())
    types = " ".join(f"{n}:{t}" for n, t in work.dtypes.items() if t != "f32")
    threads = f"{work.threads} thread{'s' if work.threads != 1 else ''}"
    return ", ".join(p for p in (f"{work.operator} {shape}", types, threads) if p)


def met_line(met: Met) -> str:
    """The condition that failed, and where; unreplayed ones say so."""
    seen = "" if met.replayed else " (not replayed)"
    return f"{met.condition}{seen}: {met.text}"


def fact_lines(facts: Iterable[KeptFact]) -> tuple[str, ...]:
    """One line for each."""
    return tuple(fact_line(f) for f in facts)
