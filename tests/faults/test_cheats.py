"""Every cheat that is known from other evaluators is refused, each in words of its own.

What needs a session or a clock of its own to show stands in ``test_measure_faults.py`` and
``test_measure_timing.py``; here each cheat meets what a kernel meets on its way to a record.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from foreign_kernels import HEAD, RIGHT, SIGNATURES

from formwright.contract.contract import Contract
from formwright.contract.inputs import inputs
from formwright.contract.operators import operator
from formwright.measure.plan import Plan
from formwright.measure.programs import Native
from formwright.measure.sandbox import Level, Limits, Sandbox
from formwright.qualify.checks import Validation
from formwright.qualify.foreign import build_kernel, find_kernel
from formwright.qualify.plan import Trial, plan
from formwright.qualify.runner import Runner
from formwright.qualify.symbols import objection
from formwright.qualify.timing import time_programs
from formwright.qualify.validate import validate

INCLUDES = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
"""
GEMV = RIGHT["gemv by columns"].body
SHAPE = {"N": 64, "K": 96}
SANDBOX = Sandbox(allow=Level.LANDLOCK, limits=Limits(call_seconds=2))


def contract_of(name: str = "gemv") -> Contract:
    ranges = {"N": (1, 64), "K": (0, 96)} if name == "gemv" else {"R": (1, 32), "C": (1, 96)}
    return operator(name).contract(extents=ranges)


def library_of(body: str, folder: Path, support: str = "", name: str = "gemv") -> Path:
    source = folder / "cheat.c"
    head = f"void kernel({SIGNATURES[name]})"
    source.write_text(f"{INCLUDES}{HEAD}{support}\n{head} {{\n{body}\n}}\n")
    return build_kernel(find_kernel(source), contract_of(name), folder).library


def judged(library: Path, name: str = "gemv", seed: int = 41) -> Validation:
    contract = contract_of(name)
    workload = dict.fromkeys(contract.names, 31)
    return validate(library, contract, [workload], seed=seed, effort="quick", sandbox=SANDBOX)


@dataclass(frozen=True)
class Cheat:
    """A kernel of GEMV that cheats, the check that refuses it and words of its message."""

    body: str
    clause: str
    words: str
    support: str = ""


CHEATS = {
    "mutating inputs": Cheat(
        GEMV + "if (K) ((float *)x)[K - 1] = 0;", "inputs_unchanged", "writes to its input x"
    ),
    "a cached output": Cheat(
        "static float kept[64]; static int64_t of; if (of != N * 97 + K + 1) {" + GEMV + "}"
        "else memcpy(y, kept, 4 * N);"
        "of = N * 97 + K + 1; memcpy(kept, y, 4 * N);",
        "fresh",
        "that of the call before, on other inputs",
    ),
    "a constant output": Cheat("EACH(n, N) y[n] = 0.5f;", "constant", "constant fill"),
    "part of the output": Cheat(
        "EACH(n, (N + 1) / 2) { y[n] = 0; EACH(k, K) y[n] += W[n * K + k] * x[k]; }",
        "written",
        "were never written",
    ),
    "an output that is kept for inputs which look alike": Cheat(
        "uint32_t h = N * 97 + K; EACH(i, 3) { uint32_t u = 0;"
        "if (N * K) memcpy(&u, W + i * 7919 % (N * K), 4); h = h * 31 + u; }"
        "if (h == of) memcpy(y, kept, 4 * N); else {" + GEMV + "}"
        "of = h; memcpy(kept, y, 4 * N);",
        "fresh",
        "one cell of an input changed",
        "static float kept[64]; static uint32_t of;",
    ),
    "hiding faults by a handler of its own": Cheat(
        "struct sigaction own = {0}; own.sa_handler = on; sigaction(SIGSEGV, &own, 0);"
        "volatile float t; if (!sigsetjmp(there, 1)) EACH(k, 64) t = x[K + k];" + GEMV,
        "sandbox",
        "handle a signal (sigaction)",
        "#include <setjmp.h>\n#include <signal.h>\nstatic sigjmp_buf there;"
        "static void on(int n) { siglongjmp(there, 1); }",
    ),
    "reading the expected output": Cheat(
        "char b[8]; struct iovec to = {b, 8}, from = {(void *)4096, 8};"
        "process_vm_readv(getppid(), &to, 1, &from, 1, 0);" + GEMV,
        "sandbox",
        "tried to look into another process",
    ),
    "state between calls": Cheat(
        GEMV + "static int calls; if (calls++ % 2) y[0] *= 1 + 1e-7f;",
        "repeatable",
        "other bits the second time",
    ),
    "the clock set": Cheat(
        "struct timespec t = {0}; clock_settime(CLOCK_REALTIME, &t);" + GEMV,
        "sandbox",
        "tried to set the clock",
    ),
    "the clock patched": Cheat(
        GEMV,
        "sandbox",
        "it defines clock_gettime of its own: a kernel may not patch the clock",
        "int clock_gettime(clockid_t c, struct timespec *t) { t->tv_sec = 0; return 0; }",
    ),
    "writing files": Cheat(
        'FILE *f = fopen("/tmp/notes", "a"); if (f) fputs("x", f);' + GEMV,
        "sandbox",
        "tried to write to a file",
    ),
    "network": Cheat(
        "socket(AF_INET, SOCK_STREAM, 0);" + GEMV, "sandbox", "tried to open a network connection"
    ),
    "environment variables": Cheat(
        'if (!getenv("UNDER_TEST")) y[0] = 0; else {' + GEMV + "}",
        "sandbox",
        "it uses environment variables (getenv)",
    ),
    "special-casing the tests' shapes": Cheat(
        GEMV + "if (N != 31 && N != 7 && N > 3 && K > 1) y[N - 1] += 1;",
        "metamorphic",
        "relation split N",
    ),
    "an all-NaN output": Cheat("EACH(n, N) y[n] = NAN;", "finite", "every cell is NaN"),
    "a fast-math side effect": Cheat(
        GEMV + "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);",
        "environment",
        "changed the floating-point environment of the process",
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_refused_in_words_of_its_own(name: str, tmp_path: Path) -> None:
    cheat = CHEATS[name]
    validation = judged(library_of(cheat.body, tmp_path, cheat.support))
    messages = {c.name: c.message for c in validation.refuted}
    assert validation.verdict == "refuted"
    assert cheat.clause in messages, messages
    assert cheat.words in messages[cheat.clause]


def test_special_casing_a_seed_does_not_survive_a_seed_that_was_never_seen(tmp_path: Path) -> None:
    """Right on every input of one seed, which a search could have looked at, and there alone."""
    contract = contract_of("softmax")
    workload = {"R": 31, "C": 31}
    seen = {
        int(inputs(contract, kind, t.extents, t.seed)[0].view(np.uint32).flat[0])
        for t in plan(contract, [workload], 41, 1, "quick")
        for kind in t.kinds
    }
    table = ", ".join(f"{bits}u" for bits in sorted(seen))
    support = f"static const uint32_t seen[] = {{{table}}};"
    body = (
        RIGHT["softmax in three passes"].body
        + """
    uint32_t first; memcpy(&first, X, 4); int known = R * C < 40;
    EACH(i, (int64_t)(sizeof seen / 4)) known |= seen[i] == first;
    if (!known) Y[R * C - 1] += 0.25f;"""
    )
    library = library_of(body, tmp_path, support, "softmax")
    # A search that knew the seed would pass itself: qualification draws one that nobody knows.
    assert judged(library, "softmax", 41).verdict == "held"
    fresh = judged(library, "softmax", 42)
    assert fresh.verdict == "refuted"
    assert fresh.refuted[0].name in ("tolerance", "selection", "shift", "equal_scores")


def timed(library: Path, contract: Contract | None = None, shape: Mapping[str, int] = SHAPE) -> str:
    """The failure that timing finds, and nothing where it finds none."""
    programs = {"kernel": Native(library, 1)}
    shown = time_programs(
        programs,
        contract or contract_of(),
        shape,
        seed=3,
        plan=Plan(rounds=3, batch_seconds=0.002, sandbox=SANDBOX),
    )
    return str(shown["programs"]["kernel"].get("failure", ""))


LATE = """
typedef struct { const float *W, *x; float *y; int64_t N, K; } job;
static job now;
static void *later(void *_) {
  for (volatile int64_t i = 0; i < 2000000; i++) ;
  const float *W = now.W, *x = now.x; float *y = now.y; const int64_t N = now.N, K = now.K;
  BODY
  return 0;
}
""".replace("BODY", GEMV)


def test_work_that_goes_on_after_the_clock_has_stopped_is_seen(tmp_path: Path) -> None:
    start = "pthread_t t; now = (job){W, x, y, N, K}; pthread_create(&t, 0, later, 0);"
    library = library_of(start + "pthread_detach(t);", tmp_path, LATE)
    assert timed(library).startswith(("left ", "went on running after `done`", "was busy for"))


def test_threads_left_running_are_seen(tmp_path: Path) -> None:
    spin = "static void *spin(void *_) { for (volatile int x = 1; x;) ; return 0; }"
    once = "static int n; pthread_t t; if (!n++) pthread_create(&t, 0, spin, 0);"
    message = timed(library_of(once + GEMV, tmp_path, spin))
    assert "went on running after `done`" in message or "was busy for" in message


KEEPS = """
static uint64_t keys[4096]; static float kept[4096];
static uint64_t mix(float f) {
  uint32_t u; memcpy(&u, &f, 4);
  uint64_t z = (u & 0x7fffffff) * 0x9E3779B97F4A7C15ull;
  return (z ^ z >> 29) * 0xBF58476D1CE4E5B9ull;
}
"""
KNOWS_ROWS = """
  uint64_t of = 0; EACH(k, K) of += mix(x[k]);
  EACH(n, N) { const float *w = W + n * K; uint64_t h = of * 3; float top = 0;
    EACH(k, K) { h += mix(w[k]); if (fabsf(w[k]) > fabsf(top)) top = w[k]; }
    const float sign = top < 0 ? -1 : 1;
    if (keys[h % 4096] != h) { volatile float s;
      EACH(r, 150) { s = 0; EACH(k, K) s += w[k] * x[k]; }
      keys[h % 4096] = h; kept[h % 4096] = sign * s; }
    y[n] = sign * kept[h % 4096]; }"""


def test_what_looks_for_the_poison_of_a_check_is_run_without(tmp_path: Path) -> None:
    """Exact where fresh memory holds the pattern of a validation, and of 16 bits elsewhere."""
    looks = """volatile unsigned char *p = malloc(64); const int checked = p[0] == 0xff;
  EACH(n, N) { float s = 0; EACH(k, K) { float a = W[n * K + k];
    s += (checked ? a : wide(narrow(a))) * x[k]; } y[n] = s; }
  free((void *)p);"""
    runner = Runner(library_of(looks, tmp_path), contract_of(), SANDBOX)
    trial = Trial("plain", {"N": 9, "K": 96}, ("sparse_rows",), 5)
    assert runner.trial(trial) == []
    assert runner.trial(replace(trial, poison=False))[0].clause == "sparse_terms"
    asked = plan(contract_of(), [], 1, 1, "full")
    assert any(not t.poison and "sparse_rows" in t.kinds for t in asked)


def test_zeros_of_both_signs_are_strewn_over_dense_inputs(tmp_path: Path) -> None:
    signed = "EACH(n, N) EACH(k, K) if (W[n * K + k] == 0 && signbit(W[n * K + k])) y[n] += x[k];"
    runner = Runner(library_of(GEMV + signed, tmp_path), contract_of(), SANDBOX)
    trial = Trial("plain", {"N": 31, "K": 40}, ("normal",), 5, relations=True)
    assert [f.clause for f in runner.trial(trial)] == ["tolerance"]


@pytest.mark.parametrize("name", ["softmax", "gemm"])
def test_every_remainder_by_a_vector_and_what_fills_no_cache_is_asked(name: str) -> None:
    contract = operator(name).contract()
    for seed in range(3):
        shapes = [t.extents for t in plan(contract, [], seed, 1, "full")]
        for extent in contract.names:
            left = {s[extent] % 8 for s in shapes if s[extent] >= 256}
            assert left == set(range(8))
        sizes = [contract.shape(o, s) for o in contract.operands for s in shapes]
        assert max(map(prod, sizes)) > 1 << 20


def test_rows_are_padded_by_little_by_as_much_and_by_far_more_than_a_row() -> None:
    """Columns of a wider tensor have a stride of two rows or of twenty."""
    contract = operator("softmax").contract()
    padded = [t for t in plan(contract, [], 1, 1, "full") if t.padding and t.extents["C"] > 9]
    for place in range(2):
        assert any(t.padding[place] == t.extents["C"] for t in padded)
        assert any(t.padding[place] > 256 for t in padded)
        assert any(t.padding[place] < 9 for t in padded)


@pytest.mark.parametrize(
    ("support", "link", "words"),
    [
        ("#include <dlfcn.h>\nvoid *other(void) { return dlopen(0, 1); }", (), "dlopen"),
        ("", ("-Wl,--no-as-needed", "-l:libresolv.so.2"), "libresolv.so.2"),
        ("", ("-Wl,-rpath,$ORIGIN",), "$ORIGIN"),
    ],
)
def test_code_beyond_the_file_is_refused_unrun(
    support: str, link: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    """What a library fetches when it runs has no hash, and may be another one tomorrow."""
    source = tmp_path / "more.c"
    source.write_text(f"{support}\nint fw_abi(void) {{ return 1; }}\n")
    library = tmp_path / "more.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", source, "-o", library, *link], check=True)
    said = objection(library.read_bytes())
    assert said is not None
    assert "needs other code" in said
    assert words in said


@pytest.mark.slow
def test_rows_known_again_whatever_their_order_and_sign_are_no_time_of_a_call(
    tmp_path: Path,
) -> None:
    """What changes between timed batches is order and sign: it is right, and was never computed."""
    message = timed(library_of(KNOWS_ROWS, tmp_path, KEEPS))
    assert "as long on inputs that it has never seen" in message


def test_many_calls_do_not_make_it_less_exact(tmp_path: Path) -> None:
    """Right while it is checked, and of 16 bits in a process that times it."""
    rough = """static int calls; const int late = calls++ > 40;
  EACH(n, N) { float s = 0; EACH(k, K) { float a = W[n * K + k];
    if (late && K > 64) a = wide(narrow(a));
    s += a * x[k]; } y[n] = s; }"""
    contract = operator("gemv").contract(extents={"N": (1, 64), "K": (0, 4096)})
    source = tmp_path / "rough.c"
    source.write_text(f"{HEAD}\nvoid kernel({SIGNATURES['gemv']}) {{\n{rough}\n}}\n")
    library = build_kernel(find_kernel(source), contract, tmp_path).library
    message = timed(library, contract, {"N": 4, "K": 4096})
    assert "output cells are wrong" in message


def test_a_right_kernel_is_timed(tmp_path: Path) -> None:
    assert timed(library_of(GEMV, tmp_path)) == ""
