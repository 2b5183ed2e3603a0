"""Order through counters, ranks and phases against every interleaving of small sizes.

Loops of a producer and consumers, and of two queues with bursts, with thresholds, places and
statements changed at random: what is proved must be safe wherever it is explored.
"""

import os
from collections.abc import Callable
from random import Random

import pytest

from formwright.base.source import Source
from formwright.lang import parse
from formwright.replay import explore
from formwright.smt import prove

SLOW = "FORMWRIGHT_SLOW" in os.environ
SEEDS = range(48 if SLOW else 3)
ORDER = {"readiness", "lifetime", "order", "race", "single", "uniform", "progress", "phase"}
STATES = 4000

HEAD = """template drawn : operator -> mapping

scope
  workload  C[M] = sum(k < K) A[M,k]{second}
  extents   M >= 1, K >= 1
  agents    W {agents}
  chip      shared_bytes >= 256

decisions
  T in {{1}}
  S in {{{slots}}}
  B in {{{burst}}}

program
  par grid i in ceil(M/T):
    alloc a[T], b[T] ring S shared
    alloc acc[T] register dist 1
    par team w in W:
{body}"""


Drawn = tuple[str, dict[str, int], tuple[int, ...]]
Draw = Callable[[Random], Drawn]


def block(depth: int, *rows: str) -> str:
    return "".join(f"{' ' * depth}{row}\n" for row in rows)


def off_by(random: Random) -> int:
    """Mostly right."""
    return random.choice((0, 0, 0, 0, 0, 0, 0, 1, -1))


def warps(random: Random) -> Drawn:
    """One producer; one consumer or all others; a counter for each slot or one for all."""
    slots = random.choice((1, 2, 3))
    several = random.random() < 0.6
    arrivals = "(W-1)" if several else "1"
    placed = random.random() < 0.7
    place = {v: f"[{v} mod S]" if placed else "" for v in "pq"}
    full = "q // S + 1" if placed else "q + 1"
    empty = "(p // S" if placed else "(p - S + 1"
    parities = ("", "") if random.random() < 0.6 else (f" phase {arrivals}", " phase 1")
    producer = [
        f"await empty{place['p']}, {arrivals}*{empty} + {off_by(random)}){parities[0]}",
        "a<p>[r] = A[i*T+r, p] clip",
        f"arrive full{place['p']}",
    ]
    consumer = [
        f"await full{place['q']}, {full} + {off_by(random)}{parities[1]}",
        "acc[r] += a<q>[r]",
        f"arrive empty{place['q']}",
    ]
    for rows in (producer, consumer):
        if random.random() < 0.15:
            random.shuffle(rows)
        if random.random() < 0.1:
            rows.remove(next(row for row in rows if row.startswith("await")))
    body = block(6, "if w = 0:") + block(8, "for p in 0 .. K:") + block(10, *producer)
    body += block(6, "if w >= 1:" if several else "if w = 1:") + block(8, "acc[r] = 0")
    body += block(8, "for q in 0 .. K:") + block(10, *consumer) + block(8, "C[i*T+r] = acc[r] clip")
    text = HEAD.format(second="", agents=">= 2", slots=slots, burst=1, body=body)
    return text, {"S": slots, "B": 1}, (2, 3)


def queues(random: Random) -> Drawn:
    """A unit fills two queues in bursts, another joins them."""
    slots, burst = random.choice((1, 2, 3)), random.choice((1, 2))

    def pushes(queue: str, tensor: str, name: str) -> list[str]:
        rows = [
            f"await popped_{queue}, {name} - S + 1 + {off_by(random)}",
            f"{queue}<{name}>[r] = {tensor}[i*T+r, {name}] clip",
            f"arrive pushed_{queue}",
        ]
        return [f"for {name} in p*B .. p*B + B:", *(f"  {row}" for row in rows)]

    takes = ["await pushed_a, t + 1", f"await pushed_b, t + 1 + {off_by(random)}"]
    frees = ["arrive popped_a", "arrive popped_b"]
    middle = "acc[r] += a<t>[r]*b<t>[r]"
    rows = [*takes, middle, *frees]
    if random.random() < 0.3:
        random.shuffle(rows)
    body = block(6, "if w = 0:") + block(8, "for p in 0 .. ceil(K/B):")
    body += block(10, *pushes("a", "A", "u"), *pushes("b", "E", "v"))
    body += block(6, "if w = 1:") + block(8, "acc[r] = 0") + block(8, "for t in 0 .. B*ceil(K/B):")
    body += block(10, *rows) + block(8, "C[i*T+r] = acc[r] clip")
    text = HEAD.format(second=" * E[M,k]", agents="= 2", slots=slots, burst=burst, body=body)
    return text, {"S": slots, "B": burst}, (2,)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("draw", [warps, queues])
def test_what_is_proved_is_safe_in_every_interleaving(draw: Draw, seed: int) -> None:
    text, decisions, teams = draw(Random(seed))
    template = parse(Source("drawn.fw", text))
    proof = prove(template, only=lambda c: c in ORDER, stop_early=True)
    if proof.verdict != "proved":
        return
    for agents in teams:
        for extent in range(1, 6):
            values = {"M": 1, "K": extent, "T": 1, "W": agents, **decisions}
            found = explore(template, values, limit=STATES)
            assert found.defect == "", (values, text)


def test_ranks_do_not_hide_a_deadlock() -> None:
    """Bursts into queues that are one slot too short: no pace of the roles may rank them."""
    cases = ((2, 2, True), (1, 2, False), (2, 3, False), (3, 3, True))
    for slots, burst, safe in cases if SLOW else cases[:2]:
        edited = bursts(slots, burst)
        template = parse(Source("drawn.fw", edited))
        proof = prove(template, only=lambda c: c == "progress")
        assert (proof.verdict == "proved") == safe


def bursts(slots: int, burst: int) -> str:
    """Both queues filled in whole bursts, item by item joined."""
    body = block(6, "if w = 0:") + block(8, "for p in 0 .. ceil(K/B):")
    for queue, tensor, name in (("a", "A", "u"), ("b", "E", "v")):
        body += block(10, f"for {name} in p*B .. p*B + B:")
        body += block(
            12,
            f"await popped_{queue}, {name} - S + 1",
            f"{queue}<{name}>[r] = {tensor}[i*T+r, {name}] clip",
            f"arrive pushed_{queue}",
        )
    body += block(6, "if w = 1:") + block(8, "acc[r] = 0") + block(8, "for t in 0 .. B*ceil(K/B):")
    rows = ("await pushed_a, t + 1", "await pushed_b, t + 1", "acc[r] += a<t>[r]*b<t>[r]")
    body += block(10, *rows, "arrive popped_a", "arrive popped_b")
    body += block(8, "C[i*T+r] = acc[r] clip")
    return HEAD.format(second=" * E[M,k]", agents="= 2", slots=slots, burst=burst, body=body)
