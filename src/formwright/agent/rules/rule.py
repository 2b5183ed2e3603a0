"""What a rule is: a name for a change of structure, and the variants that it makes of a template.

A rule does what its name says and checks no side condition beyond shape: whether the result still
computes the workload is the verifier's answer.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from formwright.agent.rules.finish import finished
from formwright.ir.template import Template

Level = Literal["mapping", "schedule"]
"""``mapping``: what is computed and kept where. ``schedule``: in which order, and how early."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A template that ``rule`` made; ``why`` says where it was applied and what it is for."""

    template: Template
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a rule's function gives: a template still to be finished, and the reason in words."""

    template: Template
    why: str
    costed: bool = False
    """The cost section still speaks of this program (menus and hints alone have changed)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """``changes`` yields one change for each place of a template where the rule fits."""

    name: str
    level: Level
    doc: str
    changes: Callable[[Template], Iterable[Change]]

    def apply(self, template: Template) -> tuple[Variant, ...]:
        """All variants, in the order of the text; none for a template without a program.

        Each parses, has no decision without use and has walls for the registers that it takes.
        """
        if not template.program:
            return ()
        found = list[Variant]()
        for change in self.changes(template):
            done = finished(change.template, template.name, costed=change.costed)
            if done is not None:
                found.append(Variant(done, self.name, change.why))
        return tuple(found)
