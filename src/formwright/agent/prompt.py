"""A request as a prompt: a system text and one message, cut to a budget of tokens.

Contract, chip and what failed are always whole; templates of the population, counterexamples and
the journal take what is left, in this order, the journal from its newest line back. What others
wrote stands between marks that it cannot close.
"""

from dataclasses import dataclass
from typing import Final

from formwright.agent.brief import LANGUAGE, ROLE, STRUCTURES, examples, without_comments
from formwright.agent.budget import CHARACTERS_PER_TOKEN, estimated_tokens
from formwright.agent.protocol import Finding, Known, Request
from formwright.base.diagnostics import InputError

TOKENS: Final = 24_000
"""Of a prompt, by estimate; half of it is the language and its examples at most."""

PARENT_CHARACTERS: Final = 40_000
FINDING_CHARACTERS: Final = 4_000
FINDINGS: Final = 12

_TASKS: Final = {
    "new": "Write a new template for the contract.",
    "adapt": "Write a template for the contract by adapting or combining those shown.",
    "repair": "Repair the template below: it failed as told. Keep what the contract asks.",
    "diagnose": "Say in a few sentences why the measurements fall short of the model. Begin with "
    "one word: representation, precondition, optimisation or prediction.",
    "mechanism": "Name in one sentence what the purchase made possible.",
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """``system`` is the same for all requests of a run, so servers may cache it."""

    system: str
    user: str
    left_out: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """By estimate, rather too many."""
        return estimated_tokens(self.system) + estimated_tokens(self.user)


def prompt_for(request: Request, tokens: int = TOKENS) -> Prompt:
    """The prompt of ``request``. ``left_out`` says what did not fit; nothing is cut in silence."""
    system = system_text()
    parts = [
        f"Task: {_TASKS[request.kind]}",
        f"Contract\n{marked(request.contract)}",
        "Formula\n" + marked("\n".join(request.formula)),
        "Chip\n" + marked("\n".join(f"{k} = {v}" for k, v in request.chip.items())),
    ]
    if request.parent:
        parts.append(f"The template\n{marked(_cut(request.parent, PARENT_CHARACTERS))}")
    if request.findings:
        parts.append("What failed\n" + "\n".join(map(_finding, request.findings[:FINDINGS])))
    if request.kind not in ("diagnose", "mechanism"):
        asked = "\n".join(f"- {name}: {question}" for name, question in STRUCTURES)
        parts.append(f"Answer for yourself before you write:\n{asked}")
    rest = tokens * CHARACTERS_PER_TOKEN - len(system) - sum(len(p) + 2 for p in parts)
    left_out: list[str] = []
    if len(request.findings) > FINDINGS:
        left_out.append(f"{len(request.findings) - FINDINGS} findings")
    met = request.data.get("counterexamples", ())
    for title, texts, newest in (
        ("What the population knows", [_known(k) for k in request.known], False),
        ("Counterexamples met", [marked(_cut(str(m), FINDING_CHARACTERS)) for m in met], False),
        ("The run so far", [marked(line) for line in request.journal], True),
    ):
        taken = _fitting(texts, rest - len(title), newest)
        if len(taken) < len(texts):
            left_out.append(f"{len(texts) - len(taken)} of {len(texts)} of: {title.lower()}")
        if taken:
            section = title + "\n" + "\n".join(taken)
            parts.append(section)
            rest -= len(section) + 2
    if left_out:
        parts.append("Left out for room: " + "; ".join(left_out))
    return Prompt(system, "\n\n".join(parts), tuple(left_out))


def system_text() -> str:
    """Role, language and examples."""
    return f"{ROLE}\n{LANGUAGE}\nExamples\n{marked(examples())}"


def follow_up(findings: tuple[Finding, ...]) -> str:
    """The message that goes back after an answer of no use."""
    told = "\n".join(map(_finding, findings[:FINDINGS]))
    return f"That answer was not taken:\n{told}\n\nAnswer again, whole."


def marked(text: str) -> str:
    """``text`` as material: marks in it are broken up, so that it cannot leave its place."""
    return "<<<\n" + text.rstrip().replace("<<<", "< < <").replace(">>>", "> > >") + "\n>>>"


def _finding(finding: Finding) -> str:
    lines = [finding.message]
    if finding.condition:
        lines.append(f"condition: {finding.condition}")
    if finding.counterexample:
        lines.append(f"counterexample:\n{finding.counterexample}")
    return f"failed at: {finding.stage}\n{marked(_cut(chr(10).join(lines), FINDING_CHARACTERS))}"


def _known(known: Known) -> str:
    try:
        text = without_comments(known.name, known.text)
    except InputError:
        text = known.text  # kernel source, or of another version of the language
    facts = "".join(f"\n{fact}" for fact in known.facts)
    return f"{known.name}, evidence: {known.evidence}\n{marked(text + facts)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "\n[cut here]"


def _fitting(texts: list[str], room: int, newest: bool) -> list[str]:
    """As many whole texts as fit into ``room`` characters, from the front or from the end."""
    taken: list[str] = []
    for text in reversed(texts) if newest else texts:
        room -= len(text) + 1
        if room < 0:
            break
        taken.append(text)
    return taken[::-1] if newest else taken
