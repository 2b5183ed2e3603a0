"""How often validation errs: mutants of right kernels that it accepts, right ones that it refuses.

    python benchmarks/mutants.py --mutants 320 --out mutants.json

Mutants are right kernels (``right_kernels.py``) with one token changed. One whose machine code is
the original's is the same kernel and not counted. What ``full`` validation with a secret seed
accepts is looked at again by a stronger search: other seeds, and shapes drawn around the sizes in
the kernel's text. A survivor that this finds wrong is a false accept; the others are listed, for
somebody to say why they are equivalent: ``studies/validation`` holds what was said.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from right_kernels import Right, right_kernels

from formwright.base.files import write_json
from formwright.codegen.build import find_compiler
from formwright.codegen.target import detect_target
from formwright.contract.contract import Contract
from formwright.contract.operators import operator
from formwright.measure.sandbox import Level, Limits, Sandbox
from formwright.qualify.adapter import adapter_text
from formwright.qualify.checks import Validation
from formwright.qualify.qualification import secret_seed
from formwright.qualify.validate import validate

SANDBOX = Sandbox(allow=Level.LANDLOCK, limits=Limits(call_seconds=0.5))
"""Namespaces cost more than the calls, and mutants are no attackers."""

CHANGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"<(?![=<])", ("<=", ">")),
    (r"<=|>=", ("<",)),
    (r"(?<![->])>(?![=>])", (">=", "<")),
    (r"(?<!\+)\+(?![+=])", ("-",)),
    (r"(?<!-)-(?![-=>])", ("+",)),
    (r"(?<=\w )\*(?= )", ("+", "-")),
    (r"(?<!/)/(?![/=])", ("*",)),
    (r"\+=", ("=", "-=")),
    (r"\*=|/=", ("=", "+=")),
    (r"\+\+", ("--",)),
    (r"%", ("/",)),
    (r"\b1e-6f?\b", ("1e-5f", "0", "1e-7f")),
    (r"(?<![\w.])\d+(?![\w.])", ("PLUS", "MINUS")),
    (r"\bexpf\b", ("exp2f", "expm1f")),
    (r"\bsqrtf\b", ("fabsf", "cbrtf")),
    (r"\b(float|double)\b(?= [a-z] = 0|\s+[a-z]\[)", ("_Float16",)),
    (r"(?<!const )\bfloat\b(?= [a-z]\b)", ("int",)),
    (r"\bM\b|\bN\b|\bK\b|\bR\b|\bC\b|\bT\b|\bH\b|\bS\b|\bD\b|\bG\b", ("OTHER",)),
    (r"\[[^\[\]]*\]", ("SHIFT",)),
    (r"\b(m != m|x\[c\] != x\[c\]|s\[j\] != s\[j\])", ("0",)),
    (r"-INFINITY", ("0", "-1e30f")),
    (r"\bif \(n == -INFINITY\) continue;|\bif \(m != m\) break;", (";",)),
)


@dataclass(frozen=True)
class Mutant:
    """``at`` is the offset in the body, ``was`` and ``now`` the text there."""

    kernel: Right
    body: str
    at: int
    was: str
    now: str

    @property
    def name(self) -> str:
        line = self.kernel.body.count("\n", 0, self.at)
        text = self.body.splitlines()[line].strip()
        return f"{self.kernel.operator} {self.kernel.name}: {self.was} -> {self.now} in `{text}`"


def mutants_of(kernel: Right) -> Iterator[Mutant]:
    """Every change of one token that the table names."""
    names = re.findall(r"int64_t (\w)", kernel.source("").partition("{\n")[0].rpartition("void")[2])
    for pattern, changes in CHANGES:
        for found in re.finditer(pattern, kernel.body):
            for change in changes:
                for now in _texts(found.group(), change, names):
                    body = kernel.body[: found.start()] + now + kernel.body[found.end() :]
                    yield Mutant(kernel, body, found.start(), found.group(), now)


def _texts(was: str, change: str, names: list[str]) -> Iterator[str]:
    match change:
        case "PLUS":
            yield str(int(was) + 1)
        case "MINUS":
            yield str(int(was) - 1)
        case "OTHER":
            yield from (name for name in names if name != was and was in names)
        case "SHIFT":
            yield f"{was[:-1]} + 1]"
        case _:
            yield change


def build(kernel: Right, body: str, folder: Path) -> Path | None:
    """The library, or ``None`` for what is no C."""
    flags = ["-std=gnu11", "-O1", "-w", "-fPIC", *detect_target().flags]
    compiler = find_compiler()
    adapter = folder / f"{kernel.operator.replace(':', '_')}.o"
    if not adapter.exists():
        text = adapter_text(contract_of(kernel), "kernel", detect_target().features)
        adapter.with_suffix(".c").write_text(text)
        command = [*compiler, *flags, "-c", adapter.with_suffix(".c").name, "-o", adapter.name]
        subprocess.run(command, cwd=folder, check=True)
    (folder / "kernel.c").write_text(kernel.source(body))
    files = ["-shared", *kernel.flags, "-o", "kernel.so", "kernel.c", adapter.name, "-lm"]
    done = subprocess.run([*compiler, *flags, *files], cwd=folder, capture_output=True, check=False)
    return folder / "kernel.so" if done.returncode == 0 else None


def contract_of(kernel: Right) -> Contract:
    name, _, dtype = kernel.operator.partition(":")
    return operator(name).contract(dtypes=dtype or None)


def usual(contract: Contract) -> dict[str, int]:
    """A shape of the size of small layers; validation draws the others."""
    size = {2: 96, 3: 24}.get(len(contract.names), 4)
    return {name: size + 7 * place for place, name in enumerate(contract.names)}


def judged(library: Path, kernel: Right, seed: int, strong: bool = False) -> Validation:
    """``full`` validation; the stronger search draws shapes round the numbers in the text."""
    contract = contract_of(kernel)
    edges = None
    if strong:
        numbers = sorted({int(n) for n in re.findall(r"(?<![\w.])\d+(?![\w.])", kernel.body)})
        sizes = sorted({m * n for n in numbers if n > 1 for m in (1, 3)})[:8]
        edges = dict.fromkeys(contract.names, sizes)
    return validate(
        library, contract, [usual(contract)], seed=seed, boundaries=edges, sandbox=SANDBOX
    )


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--mutants", type=int, default=320)
    arguments.add_argument("--right", type=int, default=1000, help="right kernels at most")
    arguments.add_argument("--alive", type=Path, help="only the mutants that live in this report")
    arguments.add_argument("--draw", type=int, default=4, help="which mutants are drawn")
    arguments.add_argument("--out", type=Path, default=Path("mutants.json"))
    given = arguments.parse_args()
    start = time.monotonic()
    kernels = right_kernels()
    report: dict[str, Any] = {"right": {}, "mutants": {}, "survivors": {}, "draw": given.draw}
    with tempfile.TemporaryDirectory(prefix="formwright-mutants-") as place:
        folder = Path(place)
        steps = chain(
            _mutants(_drawn(kernels, given), given.mutants, folder, report),
            _right(kernels[: given.right], folder, report),
        )
        for said in steps:
            # After each one: what was found stays when this is interrupted.
            print(said, file=sys.stderr, flush=True)
            report["seconds"] = round(time.monotonic() - start, 1)
            report["summary"] = summary(report)
            write_json(given.out, report)
    print(json.dumps(report["summary"], indent=1))
    return 0


def _right(kernels: tuple[Right, ...], folder: Path, report: dict[str, Any]) -> Iterator[str]:
    for number, kernel in enumerate(kernels, 1):
        library = build(kernel, kernel.body, folder)
        assert library is not None, kernel.name
        validation = judged(library, kernel, secret_seed())
        said = "; ".join(c.message for c in validation.refuted)
        report["right"][f"{kernel.operator} {kernel.name}"] = said or validation.verdict
        yield f"right {number} of {len(kernels)}: {kernel.name}: {said or validation.verdict}"


def _drawn(kernels: tuple[Right, ...], given: argparse.Namespace) -> list[Mutant]:
    """Mutants in the order in which they are tried."""
    every = [m for k in kernels for m in mutants_of(k)]
    random.Random(given.draw).shuffle(every)
    if given.alive is None:
        return every
    alive = json.loads(given.alive.read_text())["survivors"]
    return [m for m in every if m.name in alive]


def _mutants(
    every: list[Mutant], wanted: int, folder: Path, report: dict[str, Any]
) -> Iterator[str]:
    originals: dict[str, str] = {}
    living: list[Mutant] = []
    counted = 0
    for mutant in every:
        if counted == wanted:
            break
        kernel = mutant.kernel
        if kernel.body not in originals:
            right = build(kernel, kernel.body, folder)
            assert right is not None
            originals[kernel.body] = sha256(right.read_bytes()).hexdigest()
        library = build(kernel, mutant.body, folder)
        if library is None:
            continue
        if sha256(library.read_bytes()).hexdigest() == originals[kernel.body]:
            report["mutants"][mutant.name] = "the same machine code"
            continue
        counted += 1
        validation = judged(library, kernel, secret_seed())
        if validation.verdict == "refuted":
            report["mutants"][mutant.name] = validation.refuted[0].name
        else:
            report["mutants"][mutant.name] = "lives"
            report["survivors"][mutant.name] = "not looked at again yet"
            living.append(mutant)
        yield f"mutant {counted} of {wanted}: {mutant.name}: {report['mutants'][mutant.name]}"
    for mutant in living:
        library = build(mutant.kernel, mutant.body, folder)
        assert library is not None
        report["survivors"][mutant.name] = _again(library, mutant.kernel)
        yield f"survivor: {mutant.name}: {report['survivors'][mutant.name]}"


def _again(library: Path, kernel: Right) -> str:
    """What a stronger search says of a survivor."""
    for _ in range(2):
        validation = judged(library, kernel, secret_seed(), strong=True)
        if validation.verdict == "refuted":
            return f"wrong: {validation.refuted[0].message}"
    return "nothing found"


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """The rates, and by which check mutants were refused."""
    verdicts = Counter(report["mutants"].values())
    same = verdicts.pop("the same machine code", 0)
    lives = verdicts.pop("lives", 0)
    refused = {n: said for n, said in report["right"].items() if said != "held"}
    return {
        "right": len(report["right"]),
        "right_refused": refused,
        "same_machine_code": same,
        "mutants": sum(verdicts.values()) + lives,
        "refused": sum(verdicts.values()),
        "live": lives,
        "live_and_wrong": sum(1 for s in report["survivors"].values() if s.startswith("wrong")),
        "refused_by": dict(verdicts.most_common()),
    }


if __name__ == "__main__":
    sys.exit(main())
