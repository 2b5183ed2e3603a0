"""Methods that machines of a cluster ran: seconds of unlike ones do not compare, and say so."""

from collections.abc import Sequence
from dataclasses import replace

from formwright.flow.codesign_results import MethodRow
from formwright.flow.journal import Journal
from formwright.flow.machines import machine_of


def told_apart(journal: Journal, rows: Sequence[MethodRow]) -> tuple[MethodRow, ...]:
    """``rows``, each with a note of where its seconds are from if they are of unlike machines."""
    where = {row.method: _machines(journal, row) for row in rows}
    names = sorted(set().union(*where.values()))
    told = [journal.known(f"machine/{name}") for name in names]
    machines = [machine_of(data) for data in told if data is not None]
    if all(machine.like(machines[0]) for machine in machines):
        return tuple(rows)
    return tuple(replace(row, note=_noted(row.note, where[row.method])) for row in rows)


def _machines(journal: Journal, row: MethodRow) -> set[str]:
    """Those that the entries of a method name: none where the command itself ran it."""
    data = [journal.entries[number]["data"] for number in row.entries]
    return {d["machine"] for d in data if "machine" in d}


def _noted(note: str, machines: set[str]) -> str:
    told = f"seconds of {', '.join(sorted(machines)) or 'the machine of the command'}"
    return "; ".join(filter(None, (note, f"{told}: others are of an unlike machine")))
