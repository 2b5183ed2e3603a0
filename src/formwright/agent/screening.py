"""Cheats that show in the text of a proposal, each refused with its reason.

This saves time and gives clear words; nothing relies on it. What a text claims is never read as
evidence, kernels run in a sandbox, and contract, benchmark and record are out of a proposer's
reach.
"""

import re
from collections.abc import Iterator

from formwright.agent.protocol import Finding, Proposal
from formwright.base.diagnostics import Diagnostic, InputError, render, render_all
from formwright.base.source import Source
from formwright.contract.contract import Contract
from formwright.contract.matching import matches
from formwright.ir.template import Template
from formwright.lang.limits import TEXT_BYTES
from formwright.lang.parser import parse

POINTS = 10**9
"""Points of all menus of a proposal. Shipped templates are far below; the language allows more."""

_EVIDENCE = re.compile(
    r"\b(?:proved|proven|verified|certified|qualified|measured|tested|simulated|bounded)\b"
    r"|\b(?:verdict|evidence|certificate)\s*[:=]",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|un|never|to be)\s*-?$", re.IGNORECASE)
_CODE = re.compile(
    r"\*/|/\*|#\s*(?:include|define|pragma|undef)\b|\b(?:__\w+__|asm|system|popen|exec\w*|eval)\s*\("
    r"|`|\$\(|\bimport\s+os\b|;\s*\}",
)
_PATHS = re.compile(
    r"(?:\.\./|~/|/(?:etc|proc|tmp|home|root|work|dev)/|\b\w+\.(?:jsonl|sqlite|toml)\b)",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^\n]{0,40}"
    r"\b(?:instruction|previous|contract|rule|prompt|above)",
    re.IGNORECASE,
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|import)\b[ \t]*(.*)$", re.MULTILINE)
_HEADERS = frozenset(
    f"{name}.h"
    for name in (
        *("float", "immintrin", "limits", "math", "omp", "stdbool", "stddef", "stdint"),
        *("string", "arm_neon", "arm_sve", "stdlib", "tgmath"),
    )
)
_REACH = {
    "the outside": r"system|popen|fork|vfork|clone|exec[lv]\w*|socket|connect|kill|ptrace|syscall",
    "files": r"fopen|open|openat|creat|unlink|rename|remove|mmap|mprotect|fwrite|pwrite|dup2",
    "the environment": r"getenv|secure_getenv|setenv|putenv|environ",
    "the clock": r"clock_gettime|gettimeofday|clock|time|omp_get_wtime|__rdtsc|_rdtsc|__rdtscp",
    "the loader": r"dlopen|dlsym|dlvsym|dlmopen",
    "process ends": r"exit|_exit|_Exit|abort|atexit|longjmp|signal|sigaction|raise",
}
_HOOK = re.compile(r"\b(?:constructor|destructor|ifunc|_init|_fini|\.init_array)\b")
_ASM = re.compile(r"\b(?:asm|__asm|__asm__)\b")


def screen(proposal: Proposal, contract: Contract) -> tuple[Finding, ...]:
    """What keeps ``proposal`` from being looked at further; empty if nothing does."""
    if "\0" in proposal.text:
        return (Finding("text", "the text holds a zero byte"),)
    if proposal.language == "text":
        return ()
    if proposal.language == "c":
        return tuple(_of_source(proposal.text))
    source = Source("proposal.fw", proposal.text)
    try:
        template = parse(source)
    except InputError as error:
        return (Finding("parse", render_all(error.diagnostics, source)),)
    cheats = (*_claims(source), *_effort(template))
    return (*cheats, *_scope(template, contract, source))


def _scope(template: Template, contract: Contract, source: Source) -> Iterator[Finding]:
    for fault in matches(template, contract):
        yield Finding("match", render(fault, source))


def _effort(template: Template) -> Iterator[Finding]:
    points = 1
    for decision in template.decisions:
        points *= max(1, len(decision.menu))
    if points > POINTS:
        yield Finding(
            "effort",
            f"the menus span {points:.3g} designs; {POINTS:.0e} is what a proposal may ask of the "
            "solver\n  hint: close menus, or tie decisions together",
        )


_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def _claims(source: Source) -> Iterator[Finding]:
    """Words in texts and comments, line by line. Neither is ever evidence; they are no place."""
    for number, line in enumerate(source.text.splitlines(), 1):
        texts = " ".join(_QUOTED.findall(line))
        comment = _QUOTED.sub('""', line).partition("#")[2]
        for words in filter(None, (texts, comment)):
            for message, hint in _wordings(words):
                yield Finding("claim", render(Diagnostic(f"line {number}: {message}", None, hint)))


def _wordings(words: str) -> Iterator[tuple[str, str]]:
    found = _EVIDENCE.search(words)
    if found and not _NEGATED.search(words[: found.start()]):
        told = f'the text claims "{found[0]}": evidence comes from the verifier and the measurement'
        yield told, "describe the design, not what is known of it"
    found = _CODE.search(words)
    if found:
        yield f'"{found[0]}" in a text looks like code', "texts are for readers; nothing runs them"
    found = _PATHS.search(words)
    if found:
        told = f'the text names a file ("{found[0]}")'
        yield told, "templates have no files: record, contract and benchmark are out of reach"
    found = _ORDERS.search(words)
    if found:
        yield f'the text gives orders ("{found[0]}")', "contract and rules stay as they are"


def _of_source(text: str) -> Iterator[Finding]:
    """Kernel source: headers, calls and hooks that a kernel of numbers has no use for."""
    if len(text.encode(errors="replace")) > TEXT_BYTES:
        yield Finding("source", f"the source is larger than {TEXT_BYTES} bytes")
        return
    text = text.replace("\\\n", "").replace("??/\n", "")
    code = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    for match in _INCLUDE.finditer(code):
        name = match[1].strip().strip('<>"')
        if name not in _HEADERS:
            yield Finding("source", f"header {name or '(none)'} is not one that a kernel needs")
    for what, names in _REACH.items():
        called = re.search(rf"\b({names})\b(?=\s*\()|\b(environ)\b", code)
        if called and (called[1] or what == "the environment"):
            yield Finding("source", f"the source reaches for {what}: {called[0]}")
    for pattern, told in ((_HOOK, "runs outside the call"), (_ASM, "holds machine code")):
        if found := pattern.search(code):
            yield Finding("source", f"the source {told}: {found[0]}")
    if "##" in code or re.search(r"%:%:", code):
        yield Finding("source", "the source pastes names together (##), which hides what it calls")
