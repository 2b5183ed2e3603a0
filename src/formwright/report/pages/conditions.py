"""The conditions of a proof: verdicts, and what each rests on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from formwright.report.page import (
    Block,
    Cell,
    Column,
    Evidence,
    Fold,
    Graph,
    Node,
    Origin,
    Standing,
    Table,
    Text,
)
from formwright.report.pages.entries import items, mapping, number, words
from formwright.report.pages.resting import kept_resting
from formwright.report.pages.units import count_cell

EVIDENCE: Final = ("proved", "bounded", "tested", "measured", "simulated", "modelled")

GROUPS: Final = {
    "K1": "the constraints imply the requirements",
    "K2": "the requirements make the program right, for the whole family",
    "K3": "every parameter of the scope has at least one design",
    "derived": "divisors, footprints, reachable statements, output defined everywhere",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One obligation with what it rests on, in words."""

    name: str
    group: str
    condition: str
    verdict: str
    evidence: str
    seconds: float | None
    detail: str
    rests: str
    counterexample: Mapping[str, Any]


def conditions_of(
    proof: Mapping[str, Any], known: Mapping[str, str] | None = None
) -> tuple[Condition, ...]:
    """The obligations of the JSON of a proof, each with the ground that is kept for it here.

    ``known``: the grounds by obligation, for a part of a chain that is no template.
    """
    kept = kept_resting(words(proof, "digest"))
    resting = {o.name: said for o, said in kept} if known is None else known
    solver = words(proof, "solver") or "the solver"
    found = []
    for o in map(mapping, items(proof.get("obligations"))):
        verdict = words(o, "verdict")
        name = words(o, "name")
        rests = resting.get(name, f"{solver} alone") if verdict == "proved" else "nothing"
        found.append(
            Condition(
                name=name,
                group=words(o, "group"),
                condition=words(o, "condition"),
                verdict=verdict,
                evidence=words(o, "evidence"),
                seconds=number(o, "seconds"),
                detail=words(o, "detail"),
                rests=rests,
                counterexample=mapping(o.get("counterexample")),
            )
        )
    return tuple(found)


def standing_of(verdict: str) -> Standing:
    """A verdict as a drawing shows it: what is neither shown nor refuted is unresolved."""
    if verdict in ("proved", "held"):
        return "held"
    return "refuted" if verdict == "refuted" else "unresolved"


def evidence_of(word: str) -> Evidence | None:
    """The evidence word, if it is one."""
    return cast(Evidence, word) if word in EVIDENCE else None


def verdict_cell(verdict: str, evidence: str) -> Cell:
    """A verdict with its evidence word, which only what was shown has."""
    shown = evidence_of(evidence) if verdict in ("proved", "held") else None
    return Cell(verdict or "–", standing=standing_of(verdict), evidence=shown)


def evidence_in(proof: Mapping[str, Any]) -> str:
    """The weakest word that an obligation of a proof carries: what the whole may be called."""
    kinds = {words(o, "evidence") for o in items(proof.get("obligations"))}
    return "bounded" if "bounded" in kinds else "proved" if kinds == {"proved"} else "none"


def verdict_of(proof: Mapping[str, Any]) -> str:
    """The verdict, as far as the obligations beside it bear it out: a file that says ``proved``
    of what its own obligations leave open is not believed."""
    told = words(proof, "verdict")
    verdicts = {words(o, "verdict") for o in items(proof.get("obligations"))}
    if told != "proved" or verdicts == {"proved"}:
        return told
    return next((v for v in ("refuted", "vacuous") if v in verdicts), "unresolved")


def condition_blocks(
    found: Sequence[Condition], subject: str, origin: Origin | None, theorem: str = ""
) -> tuple[Block, ...]:
    """A table by condition, what rests on what as a graph, and every obligation.

    ``theorem``: what is shown of ``subject``, if not that every design computes its workload.
    """
    groups: dict[tuple[str, str], list[Condition]] = {}
    for c in found:
        groups.setdefault((c.group, c.condition), []).append(c)
    by_condition = Table(
        title=f"Conditions of {subject}",
        columns=(
            Column("group"),
            Column("condition"),
            Column("obligations", number=True),
            Column("verdict"),
            Column("rests on"),
        ),
        rows=tuple(_row(g, c, members, origin) for (g, c), members in groups.items()),
        says="K1: the constraints imply the requirements; K2: these make the program right; "
        "K3: every parameter has a design.",
    )
    top = theorem or f"every design of {subject} computes its workload"
    graph = _graph(groups, subject, top)
    everything = Fold("As a tree, and every obligation", (graph, _all(found, subject, origin)))
    return (by_condition, _rests_text(found), everything)


def _row(
    group: str, condition: str, members: Sequence[Condition], origin: Origin | None
) -> tuple[Cell, ...]:
    verdict = _worst(members)
    rests = Counter(m.rests for m in members)
    return (
        Cell(group or "–"),
        Cell(condition or "–"),
        count_cell(len(members), origin),
        Cell(verdict, standing=standing_of(verdict), evidence=_weakest_evidence(members)),
        Cell(", ".join(f"{n} {what}" if len(rests) > 1 else what for what, n in rests.items())),
    )


def _worst(members: Sequence[Condition]) -> str:
    verdicts = {m.verdict for m in members}
    known = ("refuted", "vacuous", "unresolved")
    return next((v for v in known if v in verdicts), "proved" if verdicts == {"proved"} else "?")


def _weakest_evidence(members: Sequence[Condition]) -> Evidence | None:
    kinds = {m.evidence for m in members}
    if _worst(members) != "proved":
        return None
    return "bounded" if "bounded" in kinds else evidence_of(min(kinds)) if len(kinds) == 1 else None


def _graph(groups: Mapping[tuple[str, str], Sequence[Condition]], subject: str, top: str) -> Graph:
    """The theorem on top, below it the groups, their conditions, and what these rest on."""
    everything = [c for members in groups.values() for c in members]
    verdict = _worst(everything)
    nodes = [Node("theorem", top, standing=standing_of(verdict))]
    for group in dict.fromkeys(g for g, _ in groups):
        mine = [c for c in everything if c.group == group]
        label = f"{group}: {GROUPS[group]}" if group in GROUPS else group or "other"
        nodes.append(
            Node(f"group {group}", label, ("theorem",), standing=standing_of(_worst(mine)))
        )
    for (group, condition), members in groups.items():
        rests = Cell(f"rests on {_mostly(members)}")
        cells = (count_cell(len(members)), rests)
        parents = (f"group {group}",)
        standing = standing_of(_worst(members))
        nodes.append(Node(f"{group} {condition}", condition, parents, cells, standing))
    says = (
        f"{len(everything)} obligations in {len(groups)} conditions; "
        f"the theorem is {verdict if verdict != '?' else 'not proved'}."
    )
    return Graph(f"What the proof of {subject} rests on", says, tuple(nodes))


def _mostly(members: Sequence[Condition]) -> str:
    """What a condition rests on, each with how many obligations do."""
    rests = Counter(m.rests for m in members).most_common()
    return rests[0][0] if len(rests) == 1 else ", ".join(f"{n} on {what}" for what, n in rests)


def _rests_text(found: Sequence[Condition]) -> Text:
    rests = Counter(c.rests for c in found if c.verdict == "proved")
    told = "; ".join(f"{n} of {len(found)} obligations rest on {w}" for w, n in rests.most_common())
    return Text(
        f"{told or 'No obligation is proved'}. What is kept is read here and not checked again: "
        "`formwright audit` checks every certificate and proves a sample again; "
        "`formwright certify` makes certificates where there is none."
    )


def _all(found: Sequence[Condition], subject: str, origin: Origin | None) -> Table:
    return Table(
        title=f"Every obligation of {subject}",
        columns=(
            Column("obligation"),
            Column("condition"),
            Column("verdict"),
            Column("rests on"),
            Column("time (s)", number=True),
            Column("detail"),
        ),
        rows=tuple(
            (
                Cell(c.name, origin=origin),
                Cell(f"{c.group} {c.condition}".strip()),
                verdict_cell(c.verdict, c.evidence),
                Cell(c.rests),
                Cell("–") if c.seconds is None else Cell(f"{c.seconds:.3f}", c.seconds),
                Cell(c.detail or "–"),
            )
            for c in found
        ),
        shown=12,
    )
