"""The verifier against the interpreter, which share no code, on random pipelined loops.

What is proved shows no defect in any order of a small instance; what is not proved has a
counterexample that the interpreter reaches.
"""

from random import Random

from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.replay import explore, replay
from formwright.smt import prove

HEAD = """template drawn : operator -> mapping

object slot
  "one column of a tile in each slot"

scope
  workload  C[M] = sum(k < K) A[M,k]
  extents   M >= 1, K >= {least}
  agents    W >= 1
  chip      shared_bytes >= 256

decisions
  T in {{2}}
  S in {{{slots}}}

program
  par grid i in ceil(M/T):
    alloc s[T] ring S shared
    alloc acc[T] register{dist}
    par team w in W:
      acc[r] = 0
{body}
      C[i*T+r] = acc[r] clip
"""


def drawn(seed: int) -> Template:
    """A loop with its load, computation and barriers in a random order."""
    random = Random(seed)
    slots, ahead = random.randint(1, 3), random.randint(0, 2)
    copy = " async" if random.random() < 0.35 else ""
    load = [f"if p+{ahead} < K: s<p+{ahead}>[r] = A[i*T+r, p+{ahead}] clip{copy}"]
    groups = [["commit"], [f"wait {random.randint(0, 2)}"]] if copy else []
    compute = ["acc[r] += s<p>[r]"]
    barriers = [["barrier"] for _ in range(random.choice([0, 1, 1, 2, 2]))]
    pieces = [load, compute, *groups, *barriers]
    if random.random() < 0.6:
        pieces = [load, *groups, *barriers[:1], compute, *barriers[1:]]
    else:
        random.shuffle(pieces)
    rows = []
    if ahead and random.random() < 0.9:
        rows += [f"for u in 0 .. {ahead}:", f"  if u < K: s<u>[r] = A[i*T+r, u] clip{copy}"]
        rows += ["  commit"] if copy else []
    rows += ["for p in 0 .. K:", *(f"  {row}" for piece in pieces for row in piece)]
    text = HEAD.format(
        slots=slots,
        least=random.choice([0, 1, 1, 3]),
        dist=random.choice([" dist 1", " dist 1", " dist 1", ""]),
        body="\n".join(f"      {row}" for row in rows),
    )
    return parse(Source(f"drawn{seed}.fw", text))


CHOSEN = range(8)


def agree(seed: int) -> str:
    template = drawn(seed)
    proof = prove(template, replayer=replay, only=lambda c: c not in ("menu", "vacuity"))
    if proof.verdict == "refuted":
        return "refuted"
    if proof.verdict == "unresolved":
        return "unresolved: " + next(
            f"{o.name}: {o.detail}" for o in proof.obligations if o.verdict == "unresolved"
        )
    slots = template.decisions[1].menu[0]
    least = 3 if "K >= 3" in str(template.scope.extents) else 1
    for length in range(least, 6):
        values = {"M": 2, "K": length, "W": 2, "T": 2, "S": slots}
        seen = explore(template, values, limit=4000)
        assert not seen.defect, f"seed {seed}, K = {length}: {seen.defect}"
    return "proved"


def test_verdicts_agree_with_runs() -> None:
    found = [agree(seed) for seed in CHOSEN]
    assert [f for f in found if f.startswith("unresolved")] == []
    assert {"proved", "refuted"} <= set(found)
