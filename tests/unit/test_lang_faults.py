"""Every fault of a template file gives its whole message: place, line, caret, hint.

The messages are in ``tests/golden/lang_faults.txt``; ``FORMWRIGHT_UPDATE=1`` writes them anew.
"""

import os
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.lang import parse

GOLDEN = Path(__file__).parent.parent / "golden" / "lang_faults.txt"

BASE = """\
template t : operator -> mapping

scope
  workload C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents M >= 1, N >= 1, K >= 1
  agents W >= 1
  chip bytes >= 1, clock > 0

decisions
  T in {1, 2, 4}
  S in {1, 2}

where
  KT = ceil(K/T)

constraints
  C1 wall bytes : S*T*T <= chip.bytes

requires
  r1 : T >= 1

program
  par grid (i, j) in ceil(M/T), ceil(N/T):
    alloc a[T,T], b[T,T] ring S shared
    alloc acc[T,T] register dist 2
    par team w in W:
      acc[r,s] = 0
      for p in 0 .. KT:
        a<p>[r,l] = A[i*T+r, p*T+l] clip
        b<p>[l,s] = B[p*T+l, j*T+s] clip
        barrier
        acc[r,s] += a<p>[r,l] * b<p>[l,s]
        barrier
      C[i*T+r, j*T+s] = acc[r,s] clip

rank "steps left"
prove coverage

cost X seconds
  coefficient c0 = 1.5
  w1 = M*N
  X >= c0*w1/chip.clock
"""

KT = "KT = ceil(K/T)"
LOOP = "for p in 0 .. KT:"
ADD = "acc[r,s] += a<p>[r,l] * b<p>[l,s]"
STORE = "C[i*T+r, j*T+s] = acc[r,s] clip"
ZERO = "acc[r,s] = 0"
RULE = "r1 : T >= 1"
ACC = "alloc acc[T,T] register dist 2"

CASES: dict[str, tuple[tuple[str, str], ...]] = {
    # text
    "tab": (("  T in", "\tT in"),),
    "control character": ((KT, "KT = K\x00"),),
    "non-ascii sign": ((KT, "KT = K × T"),),
    "bad number": ((KT, "KT = 12abc"),),
    "long name": ((KT, f"{KT}\n  {'n' * 70} = 1"),),
    "huge exponent": ((KT, "KT = 1e999999999"),),
    "too many digits": ((KT, f"KT = {'1' * 41}"),),
    "carriage return alone": ((KT, f"{KT}\r  Q = 1"),),
    "open text": (('"steps left"', '"steps left'),),
    "escape": (('"steps left"', r'"steps\n left"'),),
    "python equality": ((RULE, "r1 : T == 1"),),
    "python and": ((RULE, "r1 : T >= 1 && S >= 1"),),
    "python mod": ((RULE, "r1 : T % 2 = 0"),),
    "power": ((RULE, "r1 : T ** 2 = 4"),),
    "bang": ((RULE, "r1 : !(T = 1)"),),
    # layout and sections
    "indentation": (("    alloc acc", "     alloc acc"),),
    "outdent to nowhere": (("        barrier\n        acc", "       barrier\n        acc"),),
    "unknown section": (("constraints", "constrains"),),
    "section twice": (("requires", "where"),),
    "no template": (("template t : operator -> mapping\n", ""),),
    "no program": ((BASE[BASE.index("program") : BASE.index("rank")], ""),),
    "no workload": (("  workload C[M,N] = sum(k < K) A[M,k] * B[k,N]\n", ""),),
    "below template": (("mapping\n", "mapping\n  x\n"),),
    "no arrow": (("operator -> mapping", "operator mapping"),),
    "unquoted text": (('rank "steps left"', "rank steps left"),),
    "text left over": (('"steps left"', '"steps" left'),),
    "section line indented": ((RULE, f"{RULE}\n    r2 : S >= 1"),),
    "scope word": (("  agents W", "  agent W"),),
    "workload twice": (("  agents", "  workload C[M,N] = A[M,N]\n  agents"),),
    # scope
    "extent without condition": (("M >= 1,", "M,"),),
    "extent twice": (("N >= 1,", "N >= 1, M >= 2,"),),
    "condition of a number": (("M >= 1,", "M + 1,"),),
    "decision in the scope": (("M >= 1,", "M >= T,"),),
    "unknown extent": (("C[M,N] =", "C[M,NN] ="),),
    "index not of the output": (("C[M,N] = sum(k < K) A[M,k]", "C[M] = sum(k < K) A[M,k]"),),
    "input twice": (("* B[k,N]", "* A[k,N]"),),
    "output on the right": (("* B[k,N]", "* C[k,N]"),),
    "reduction taken": (("sum(k < K)", "sum(m < K)"),),
    "two equal indices": (("C[M,N]", "C[M,M]"),),
    "computed index": (("A[M,k]", "A[M+1,k]"),),
    "element type": (("  agents", "  dtypes A float\n  agents"),),
    "element type of nothing": (("  agents", "  dtypes Q bf16\n  agents"),),
    "agent is a tensor": (("agents W", "agents A >= 1, W"),),
    # decisions
    "empty menu": (("{1, 2, 4}", "{}"),),
    "unsorted menu": (("{1, 2, 4}", "{1, 4, 2}"),),
    "repeated value": (("{1, 2, 4}", "{1, 2, 2}"),),
    "extra in menu": (("{1, 2}", "{1, 2} also {2, 3}"),),
    "fraction in menu": (("{1, 2, 4}", "{1, 2.5}"),),
    "no comma in menu": (("{1, 2, 4}", "{1 2 4}"),),
    "menus too long": (
        ("S in {1, 2}", f"S, U, V, X1 in {{{', '.join(map(str, range(1, 1001)))}}}"),
    ),
    "decision is an extent": (("S in {1, 2}", "S, M in {1, 2}"),),
    "word of the language": (("S in {1, 2}", "S in {1, 2}  ring in {1}"),),
    # expressions
    "unknown name": ((RULE, "r1 : TT >= 1"),),
    "unknown chip field": ((RULE, "r1 : T <= chip.byte"),),
    "missing operand": ((RULE, "r1 : T >= "),),
    "open bracket": ((RULE, "r1 : (T >= 1"),),
    "left over": ((RULE, "r1 : T >= 1 T"),),
    "chain of equals": ((RULE, "r1 : 1 <= T = S"),),
    "chain of four": ((RULE, "r1 : 1 <= T <= S < 9"),),
    "number for condition": ((RULE, "r1 : T"),),
    "condition for number": ((RULE, "r1 : T + (S = 1) >= 2"),),
    "cases of two kinds": ((RULE, "r1 : if T = 1 then 1 else S = 1"),),
    "quotient in mod": ((RULE, "r1 : (T/2) mod 2 = 0"),),
    "no then": ((RULE, "r1 : if T = 1"),),
    "sum without range": ((RULE, "r1 : sum(x < T) x >= 1"),),
    "sum shadows": ((RULE, "r1 : sum(T in 0 .. 2) T >= 1"),),
    "function": ((RULE, "r1 : abs(T) >= 1"),),
    "ceil of two": ((RULE, "r1 : ceil(T, 2) >= 1"),),
    "buffer as number": ((LOOP, "for p in 0 .. acc:"),),
    # definitions, constraints, outline, cost
    "later definition": ((KT, f"Q = KT + 1\n  {KT}"),),
    "own definition": ((KT, "KT = KT + 1"),),
    "definition twice": ((KT, f"{KT}\n  {KT}"),),
    "definitions that double": (
        (
            KT,
            KT + "\n  d0 = K" + "".join(f"\n  d{i} = d{i - 1} + d{i - 1}" for i in range(1, 15)),
        ),
    ),
    "wall field": (("wall bytes", "wall byte"),),
    "wall side": (("S*T*T <= chip.bytes", "chip.bytes >= S*T*T"),),
    "constraint twice": ((RULE, f"{RULE}\n  {RULE}"),),
    "unknown proof": (("prove coverage", "prove covrage"),),
    "coefficient in a constraint": ((RULE, "r1 : T >= c0"),),
    "bound on another": (("X >= c0", "Y >= c0"),),
    "cost without bound": (("  X >= c0*w1/chip.clock\n", ""),),
    "cost in itself": (("X >= c0*w1", "X >= X*w1"),),
    "coefficient": (("c0 = 1.5", "c0 = M"),),
    # statements
    "no colon": ((LOOP, "for p in 0 .. KT"),),
    "empty block": ((STORE, f"{STORE}\n      if KT = 1:"),),
    "block below a statement": ((STORE, f"{STORE}\n        barrier"),),
    "unknown statement": ((ZERO, "zero acc"),),
    "then in a statement": ((ZERO, "if T = 1 then acc[r,s] = 0"),),
    "par of nothing": (("par team w", "par teams w"),),
    "names and extents": (("in ceil(M/T), ceil(N/T):", "in ceil(M/T):"),),
    "no home": ((ACC, "alloc acc[T,T] dist 2"),),
    "home twice": ((ACC, "alloc acc[T,T] register shared"),),
    "global": ((ACC, "alloc acc[T,T] global"),),
    "dist": ((ACC, "alloc acc[T,T] register dist 3"),),
    "buffer shadows": ((ACC, f"{ACC}\n    alloc KT[1] shared"),),
    "loop shadows": ((LOOP, "for i in 0 .. KT:"),),
    "quotient as bound": ((LOOP, "for p in 0 .. K/T:"),),
    "chip in the program": ((LOOP, "for p in 0 .. floor(chip.bytes):"),),
    "no update": ((ZERO, "acc[r,s] 0"),),
    "clip twice": ((STORE, f"{STORE} clip"),),
    "clip of nothing": ((ZERO, f"{ZERO} clip"),),
    "write to an input": ((STORE, "A[i*T+r, j*T+s] = acc[r,s] clip"),),
    "too few indices": ((ZERO, "acc[r] = 0"),),
    "unknown buffer": ((ZERO, "accu[r,s] = 0"),),
    "decision as buffer": ((ZERO, "T[r,s] = 0"),),
    "ring without generation": ((ADD, "acc[r,s] += a[r,l] * b<p>[l,s]"),),
    "generation without ring": ((ZERO, "acc<0>[r,s] = 0"),),
    "another modulus": ((ADD, "acc[r,s] += a<p mod 2>[r,l] * b<p>[l,s]"),),
    "reduced generation": ((ADD, "acc[r,s] += a<p mod S>[r,l] * b<p>[l,s]"),),
    "box not given": (
        (STORE, "C[r,s] = 0 clip"),
        (ADD, f"{ADD}\n        C[i*T+r, x] = acc[r,s] clip"),
    ),
    "box disagrees": ((ACC, "alloc acc[T,T], e[T,S] register"), (ZERO, "acc[r,s] = e[r,s]")),
    "unknown loop name": ((ADD, "acc[r,s] += a<p>[r,l] * b<q>[l,s]"),),
    "box shadows": ((ZERO, "acc[r,w] = 0 over (r < T, w < T)"),),
    "name as value": ((ZERO, "acc[r,s] = r"),),
    "arguments of max": ((ZERO, "acc[r,s] = max(1)"),),
    "barrier outside a team": (("    par team w in W:", "    barrier\n    par team w in W:"),),
    "barrier in a grid of a team": ((LOOP, "par grid p in KT:"),),
    "counter outside a team": (("    par team w in W:", "    arrive q\n    par team w in W:"),),
    "nobody arrives": ((ZERO, f"{ZERO}; await q, 1"),),
    "counter with and without a place": ((ZERO, f"{ZERO}; arrive q[w]; await q, 1"),),
    "place of a counter is open": ((ZERO, f"{ZERO}; arrive q[w"),),
    "phase without a number": ((ZERO, f"{ZERO}; arrive q; await q, 1 phase"),),
    "hint": ((ZERO, f"hint unrol 2; {ZERO}"),),
    "owners by other names": ((ZERO, f"{ZERO}; acc[r,s] += acc[s,r]"),),
    "owners by more indices": (
        (ACC, f"{ACC}; alloc row[T] register dist 1"),
        (ZERO, f"row[r] = 0; {ZERO}; acc[r,s] += row[r]"),
    ),
    "owners in one value": ((ZERO, f"{ZERO}; a<0>[r,s] = acc[r,s] + acc[r,0]"),),
    # several at once, none of them caused by another
    "all at once": (
        ("N >= 1,", "N >= ,"),
        ("{1, 2, 4}", "{4, 2}"),
        (RULE, "r1 : TT >= 1"),
        (LOOP, "for p in 0 ..:"),
        (ADD, "acc[r] += a[r,l] * b<p>[l,s]"),
        ("c0*w1", "c1*w1"),
    ),
}


def _message(edits: tuple[tuple[str, str], ...]) -> str:
    text = BASE
    for old, new in edits:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    with pytest.raises(InputError) as caught:
        parse(Source("t.fw", text))
    assert all(d.span is not None for d in caught.value.diagnostics)
    return str(caught.value)


def _golden() -> dict[str, str]:
    parts = GOLDEN.read_text().split("=== ")[1:]
    return {p.split("\n", 1)[0]: p.split("\n", 1)[1].rstrip("\n") for p in parts}


def test_the_base_has_no_fault() -> None:
    assert parse(Source("t.fw", BASE)).name == "t"


@pytest.mark.skipif("FORMWRIGHT_UPDATE" not in os.environ, reason="writes the expected messages")
def test_update() -> None:
    found = "\n".join(f"=== {name}\n{_message(edits)}\n" for name, edits in CASES.items())
    GOLDEN.write_text(found)


def test_every_expected_message_has_its_case() -> None:
    assert list(_golden()) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_message(name: str) -> None:
    # A line that ends in blanks in a message has none in the file.
    found = "\n".join(row.rstrip() for row in _message(CASES[name]).split("\n"))
    wanted = "\n".join(row.rstrip() for row in _golden()[name].split("\n"))
    assert found == wanted


SECTIONS = [line for line in BASE.splitlines() if line and line[0] != " "][1:]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_that_is_misspelt_brings_no_fault_of_its_names(section: str) -> None:
    """What it would have defined is not called unknown elsewhere."""
    word = section.split()[0]
    text = BASE.replace(f"\n{word}", f"\n{word}x", 1)
    with pytest.raises(InputError) as caught:
        parse(Source("t.fw", text))
    said = str(caught.value)
    assert f'"{word}x" begins no section' in said
    assert "unknown" not in said
