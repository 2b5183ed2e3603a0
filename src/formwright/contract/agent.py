"""The table ``[agent]`` of a problem file: who proposes templates, and what that may cost."""

from dataclasses import dataclass
from math import isfinite, nan
from typing import Any, Final

from formwright.contract.fields import Fields

PROPOSERS: Final = ("library", "manual", "replay", "openai", "anthropic")
SERVED: Final = ("openai", "anthropic")

LIMITS: Final = ("calls", "tokens", "money", "seconds", "build_seconds", "device_seconds")
"""What a budget may limit; ``money`` is in US dollars and needs prices."""

COUNTED: Final = ("calls", "tokens")
"""Limits that are whole numbers."""

PRICES: Final = ("tokens_in", "tokens_out")
"""US dollars for a million tokens."""

_KEYS: Final = (
    *("proposer", "model", "address", "transcript", "answers"),
    *("generations", "proposals", "repairs", "patience", "diagnose", "budget", "prices"),
)


@dataclass(frozen=True, slots=True)
class Agent:
    """How templates are proposed in a run.

    ``model`` and ``address`` are of a served model, ``transcript`` is the file of ``replay``,
    ``answers`` the folder of ``manual`` (empty: one in the run's folder). A run has at most
    ``generations``; in each the first ``proposals`` texts of an answer are looked at, and one that
    fails may be repaired ``repairs`` times. It ends after ``patience`` generations in a row that
    gain nothing. ``diagnose``: the proposer is asked for its words on what was measured. Limits
    are :data:`LIMITS` by name; what is left out has none.
    """

    proposer: str = "library"
    model: str = ""
    address: str = ""
    transcript: str = ""
    answers: str = ""
    generations: int = 6
    proposals: int = 4
    repairs: int = 3
    patience: int = 2
    diagnose: bool = True
    budget: tuple[tuple[str, float], ...] = ()
    prices: tuple[tuple[str, float], ...] = ()


def read_agent(fields: Fields) -> Agent | None:
    """The table of the document, with its defaults; ``None`` after a fault, or without one."""
    table = fields.get(("agent",))
    if table is None:
        return None
    if not isinstance(table, dict):
        fields.fault("agent is not a table", ("agent",), "write [agent] on a line of its own")
        return None
    before = len(fields.faults)
    fields.faults.extend(fields.document.unknown(("agent",), table, _KEYS))
    usual = Agent()
    proposer = fields.choice(("agent", "proposer"), PROPOSERS, usual.proposer)
    texts: dict[str, Any] = {
        name: fields.text(("agent", name), "") or ""
        for name in ("model", "address", "transcript", "answers")
    }
    counts: dict[str, Any] = {
        name: fields.whole(("agent", name), low, 1000, default)
        for name, low, default in (
            ("generations", 1, usual.generations),
            ("proposals", 1, usual.proposals),
            ("repairs", 0, usual.repairs),
            ("patience", 1, usual.patience),
        )
    }
    diagnose = table.get("diagnose", usual.diagnose)
    if not isinstance(diagnose, bool):
        told = "diagnose is not true or false"
        fields.fault(told, ("agent", "diagnose"), "write diagnose = false, or leave it out")
    budget = _numbers(fields, "budget", LIMITS)
    prices = _numbers(fields, "prices", PRICES)
    if len(fields.faults) > before or proposer is None:
        return None
    found = Agent(
        proposer=proposer,
        **texts,
        **counts,
        diagnose=bool(diagnose),
        budget=budget,
        prices=prices,
    )
    for name, message, hint in faults_of(found):
        place = ("agent", name) if name in table else ("agent",)
        fields.fault(message, place, hint)
    return found if len(fields.faults) == before else None


def faults_of(agent: Agent) -> list[tuple[str, str, str]]:
    """What does not go together: key, message and what to do."""
    found = []
    if agent.proposer in SERVED and not agent.model:
        found.append(("proposer", f"{agent.proposer} needs a model", 'write model = "…"'))
    if agent.proposer == "replay" and not agent.transcript:
        hint = 'write transcript = "…": a run keeps its own as transcript.jsonl'
        found.append(("proposer", "replay needs a transcript", hint))
    for name, users in (
        ("model", SERVED),
        ("address", SERVED),
        ("transcript", ("replay",)),
        ("answers", ("manual",)),
    ):
        if getattr(agent, name) and agent.proposer not in users:
            told = f"{name} is of {' and '.join(users)}, not of {agent.proposer}"
            found.append((name, told, f"leave {name} out"))
    limits, prices = dict(agent.budget), dict(agent.prices)
    if "money" in limits and len(prices) < len(PRICES):
        hint = "state tokens_in and tokens_out: US dollars for a million tokens"
        found.append(("budget", "a budget of money needs the prices of the model", hint))
    return found


def _numbers(fields: Fields, key: str, known: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    place = ("agent", key)
    table = fields.get(place)
    if table is None:
        return ()
    if not isinstance(table, dict):
        fields.fault(f"{key} is not a table", place, f"write [agent.{key}] on a line of its own")
        return ()
    fields.faults.extend(fields.document.unknown(place, table, known))
    found = []
    for name in known:
        if name not in table:
            continue
        value = table[name]
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        what = wrong_number(name, float(value) if number else nan)
        if what:
            fields.fault(f"{name} is not {what}", (*place, name), f"write {name} = 10")
            continue
        found.append((name, float(value)))
    return tuple(found)


def wrong_number(name: str, value: float) -> str:
    """What the limit or price ``name`` must be, where ``value`` is not that; else empty."""
    whole = name in COUNTED
    good = isfinite(value) and (value >= 0 if name in PRICES else value > 0)
    if good and (value == int(value) or not whole):
        return ""
    if name in PRICES:
        return "a number from 0"
    return "a whole number above 0" if whole else "a number above 0"
