"""What the tests of the population share: small templates, proofs as the verifier writes them."""

from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang.parser import parse
from formwright.population import ChipKey, Fact, Origin, Population, Work
from formwright.proof.store import template_digest
from formwright.proof.verdict import Obligation, Proof

ROWS = """template {name} : operator -> mapping

object row
  "An agent has a row."

scope
  workload  y[N] = sum(k < K) W[N,k] * x[k]
  extents   N >= 1, K >= 0
  chip      cores >= 1

decisions
  T in {{4, 8}}

constraints
  C1: T <= 8

requires
  tile: T >= 1

program
  par grid (i) in ceil(N/T):
    alloc acc[T] register
    acc[r] = 0
    for k in 0 .. K:
      acc[r] += W[i*T+r, k] * x[k] over (r < min(T, N - i*T))
    y[i*T+r] = acc[r] clip
"""

SPLIT = """template {name} : operator -> mapping

object part
  "K is cut into parts."

scope
  workload  y[N] = sum(k < K) W[N,k] * x[k]
  extents   N >= 1, K >= 0
  chip      cores >= 1

decisions
  Q in {{4, 8}}

program
  alloc part[N, ceil(K/Q)] scratch
  par grid (i, z) in N, ceil(K/Q):
    alloc acc[1] register
    acc[r] = 0
    for k in 0 .. min(Q, K - z*Q):
      acc[r] += W[i, z*Q+k] * x[z*Q+k]
    part[i, z] = acc[0]
  par grid (i) in N:
    alloc total[1] register
    total[r] = 0
    for z in 0 .. ceil(K/Q):
      total[r] += part[i, z]
    y[i] = total[0]
"""

CHIP = ChipKey("here", "a" * 64)
OTHER_CHIP = ChipKey("there", "b" * 64)
BY = Origin("tests", "written")


def rows_text(name: str = "rows") -> str:
    return ROWS.format(name=name)


def split_text(name: str = "split") -> str:
    return SPLIT.format(name=name)


def parsed(text: str) -> Template:
    return parse(Source("sample.fw", text))


def obligation(name: str, group: str, verdict: str = "proved") -> Obligation:
    evidence = "proved" if verdict == "proved" else "none"
    return Obligation(name, group, "coverage", verdict, evidence, 0.1)  # type: ignore[arg-type]


def proof_of(template: Template, groups: tuple[str, ...] = ("K1", "K2", "K3")) -> Proof:
    """A whole proof: the population looks at what is in it, the verifier's tests at whether it is
    right."""
    found = tuple(obligation(f"goal of {g}", g) for g in groups)
    return Proof(template.name, template_digest(template), "proved", found, 0.1, "z3")


def admitted(population: Population, text: str) -> str:
    """Adds and admits ``text``; its digest."""
    entry = population.add_template(text, origin=BY)
    return population.admit(entry.digest, proof_of(parsed(text))).digest


def fact(template: str, seconds: float, chip: ChipKey = CHIP, **changed: object) -> Fact:
    work = Work("c" * 64, "gemv", {"N": 100, "K": 100}, {"W": "f32", "x": "f32", "y": "f32"})
    told: dict[str, object] = {
        "template": template,
        "assignment": {"T": 4},
        "chip": chip,
        "machine": "bench",
        "work": work,
        "quantity": "seconds",
        "value": seconds,
        "unit": "s",
        "evidence": "measured",
        "source": "run 1: measure/0",
    }
    return Fact(**(told | changed))  # type: ignore[arg-type]
