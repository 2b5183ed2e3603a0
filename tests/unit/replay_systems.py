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

requires
  distance: P <= S
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
  var held        : int = if q mod S < min(K, P) then q mod S else -1
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


def handshake(ready: str = "full", room: str = "and not full") -> Template:
    """A sender fills one cell, a reader empties it. Without ``full`` it does not wait."""
    return step("handshake", HANDSHAKE.replace("{ready}", ready).replace("{room}", room))


def pipeline(requires: str = "some: P >= 1") -> Template:
    """Warps that load and use slots of a ring between barriers; right iff P <= S-2+beta."""
    text = PIPELINE.replace("{requires}", requires)
    return step("pipeline", text, scope="  agents   W >= 1\n")
