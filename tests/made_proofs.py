"""A proof that failed: one obligation shown, one refuted by a run, one left open."""

from formwright.proof.interleaving import Event, Interleaving
from formwright.proof.verdict import Counterexample, Obligation, Proof


def refuted() -> Proof:
    """Of a template ``t``, as the verifier would say it."""
    run = Interleaving(
        "t with M = 1, W = 2",
        ("warp 0", "warp 1"),
        (
            Event("warp 0", "load(0)", writes=("s[0] = 3",)),
            Event("warp 1", "compute(0)", reads=("s[0]",), note="reads what is being written"),
        ),
        "a read before the barrier",
    )
    met = Counterexample({"M": 1, "W": 2}, "a read before the barrier", True, ("a", "b"), run)
    return Proof(
        "t",
        "0" * 64,
        "refuted",
        (
            Obligation("fits", "derived", "fits", "proved", "proved", 0.1),
            Obligation("ready", "K2", "readiness", "refuted", "none", 0.2, False, "why", met),
            Obligation("slow", "K2", "race", "unresolved", "none", 9.0, False, "timed out"),
        ),
        9.3,
        "z3 5",
    )
