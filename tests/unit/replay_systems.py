"""Small refinement steps as texts, for the tests of the interpreter of systems."""

from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang import parse

HEADER = """template {name} : {coarse} -> {fine}

scope
  workload C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents  M >= 1, N >= 1, K >= 1
{scope}
"""


def step(name: str, text: str, scope: str = "") -> Template:
    """A template whose systems are called ``NAME_coarse`` and ``NAME_fine``."""
    coarse, fine = f"{name}_coarse", f"{name}_fine"
    body = text.replace("coarse:\n", f"coarse {coarse}\n").replace("fine:\n", f"fine {fine}\n")
    head = HEADER.format(name=name, coarse=coarse, fine=fine, scope=scope)
    return parse(Source(f"{name}.fw", head + body))


HANDSHAKE = """
coarse:
  token q in K
  var got : 0 .. K + 1 = 0
  var y   : int = -1
  action take(k in K) when got = k emits k:
    got := k + 1
    y := if k = q then k else y
  final  got = K
  result y

fine:
  token q in K
  var sent  : 0 .. K + 1 = 0
  var got   : 0 .. K + 1 = 0
  var full  : bool = false
  var cell  : int = -1
  var y     : int = -1
  environment send(k in K) when sent = k {room}:
    cell := k
    full := true
    sent := k + 1
  action take(k in K) when got = k and {ready} emits cell:
    y := if k = q then cell else y
    full := false
    got := k + 1
  final  got = K
  result y

relation
  same: got = coarse.got

match
  take(k): take(k)
"""

PIPELINE = """
decisions
  S in {2, 3, 4}
  P in {1, 2, 3, 4}
  beta in {0, 1}

where
  F = min(K, P)

requires
  {requires}

coarse:
  token u in W, q in K
  var p[w in W] : 0 .. K + 1 = 0
  var y : int = -1
  action use(w in W) when p[w] < K:
    y := if w = u and p[w] = q then q else y
    p[w] := p[w] + 1
  final  sum(w in 0 .. W) p[w] = W * K
  result y

fine:
  token u in W, q in K, o in W
  var p[w in W]   : 0 .. K + 1 = 0
  var loc[w in W] : 0 .. 5 = 0
  var n[w in W]   : int = 0
  var held        : int = if q mod S < F then F - 1 - (F - 1 - q) mod S else -1
  var y           : int = -1
  let g[w] = p[w] + P
  action load(w in W) when loc[w] = 0 and p[w] < K:
    held := if w = o and g[w] < K and g[w] mod S = q mod S then g[w] else held
    loc[w] := 1
  action meet(w in W) when loc[w] = 1:
    n[w] := n[w] + 1
    loc[w] := 2
  action use(w in W) when loc[w] = 2 and forall v in W: n[v] >= n[w]:
    y := if w = u and p[w] = q then held else y
    loc[w] := if beta = 1 then 3 else 0
    p[w] := p[w] + 1
  action meet_again(w in W) when loc[w] = 3:
    n[w] := n[w] + 1
    loc[w] := 4
  action pass(w in W) when loc[w] = 4 and forall v in W: n[v] >= n[w]:
    loc[w] := 0
  final  sum(w in 0 .. W) p[w] = W * K
  result y

relation
  phase: forall w in W: p[w] = coarse.p[w]

match
  use(w): use(w)
"""


QUEUE = """
decisions
  depth in {1, 2, 4}
  burst in {1, 2, 3}

{requires}
coarse:
  var sent : 0 .. K + 1 = 0
  action item when sent < K emits sent:
    sent := sent + 1
  final  sent = K
  result sent

fine:
  var sent   : 0 .. K + 1 = 0
  var fill   : 0 .. depth + 1 = 0
  var owed   : int = 0
  environment drain when owed = 0 and fill > 0 emits sent:
    fill := fill - 1
    sent := sent + 1
  action begin when owed = 0 and fill = 0 and sent < K:
    owed := min(burst, K - sent)
  action push when owed > 0 and fill < depth:
    fill := fill + 1
    owed := owed - 1
  final  sent = K
  result sent

relation
  same: sent = coarse.sent

match
  drain: item
"""

MEETING = """
coarse:
  var n : 0 .. W + 1 = 0
  action step(w in W) when n < W:
    n := n + 1
  final  n = W
  result n

fine:
  var loc[w in W] : 0 .. 3 = 0
  var come : 0 .. W + 1 = 0
  var n    : 0 .. W + 1 = 0
  action come_in(w in W) when loc[w] = 0 {skip}:
    come := come + 1
    loc[w] := 1
  action leave(w in W) when loc[w] = 1 and come = {all}:
    n := n + 1
    loc[w] := 2
  final  n = W
  result n

relation
  same: n = coarse.n

match
  leave(w): step(w)
"""

TIMER = """
coarse:
  var done : bool = false
  action finish when not done:
    done := true
  final  done
  result K

fine:
  var t    : 0 .. K + 2 = 0
  var done : bool = false
  action tick when t < K {and}:
    t := {next}
  action finish when t >= K - 1 and not done:
    done := {finished}
  final  done
  result K

relation
  same: done = coarse.done

match
  finish: {match}

rank
  K - t + (if done then 0 else 1)
"""

WALK = """
coarse:
  token i in K
  var x[j in K] : bool = false
  var p : 0 .. K + 1 = 0
  action mark when p < K:
    x[p] := true
    p := p + 1
  final  p = K
  result x[i]

fine:
  token i in K
  var x[j in K] : bool = false
  var p : 0 .. {end} = 0
  action mark(j any) when j = p and p {limit}:
    x[{place}] := true
    p := p + 1
  final  p = K
  result x[i]

relation
  same: p = coarse.p

match
  mark(j): mark
"""


def handshake(ready: str = "full", room: str = "and not full") -> Template:
    """A sender fills one cell, a reader empties it. Without ``full`` it does not wait."""
    return step("handshake", HANDSHAKE.replace("{ready}", ready).replace("{room}", room))


def pipeline(requires: str = "some: P >= 1") -> Template:
    """Warps that load and use slots of a ring between barriers; right iff P <= S-2+beta."""
    text = PIPELINE.replace("{requires}", requires)
    return step("pipeline", text, scope="  agents   W >= 1\n")


def queue(requires: str = "") -> Template:
    """A burst that is pushed before anything is drained; stuck iff depth < burst <= K."""
    return step("queue", QUEUE.replace("{requires}", requires))


def meeting(skip: str = "", everyone: str = "W") -> Template:
    """Agents meet once; ``skip`` is a further guard of arriving."""
    return step(
        "meeting", MEETING.replace("{skip}", skip).replace("{all}", everyone), "  agents   W >= 1\n"
    )


def timer(
    more: str = "", following: str = "t + 1", finished: str = "true", match: str = "finish"
) -> Template:
    """Ticks until it may finish."""
    text = TIMER.replace("{and}", more).replace("{next}", following)
    return step("timer", text.replace("{finished}", finished).replace("{match}", match))


def walk(place: str = "j", limit: str = "< K", end: str = "K + 1") -> Template:
    """Marks every cell; its action takes any integer and a guard says which."""
    text = WALK.replace("{place}", place).replace("{limit}", limit).replace("{end}", end)
    return step("walk", text)
