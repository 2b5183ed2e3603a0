"""Wrong kernels never pass: each is refused by the check that is responsible, in its own words."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from qualify_kernels import AHEAD, RIGHT, compile_kernel

from effort import thinned
from formwright.contract.operators import operator
from formwright.measure.sandbox import Level, Limits, Sandbox
from formwright.qualify.checks import Validation, clauses
from formwright.qualify.validate import validate

NAIVE = RIGHT["naive"]
ALL = set(clauses(operator("gemm").contract()))
WORKLOADS = [{"M": 24, "N": 18, "K": 33}]


@dataclass(frozen=True)
class Wrong:
    """A kernel's body, the check that must refuse it and words of its message."""

    clause: str
    words: str
    body: str
    support: str = ""
    flags: str = ""


SPLIT = r"""
static int arrived;
static void *work(void *x) {
  part *p = x; const float *a = p->a, *b = p->b; float *c = p->c;
  const int64_t lda = p->lda, ldb = p->ldb, ldc = p->ldc;
  float before = C(0, 0);
  __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) % 2) ;
  for (int64_t k = p->lo; k < p->hi; k++) before += A(0, k) * B(k, 0);
  C(0, 0) = before;
  return 0;
}
"""
RACE = (
    NAIVE
    + """
  if (threads < 2) return 0;
  C(0, 0) = 0;  /* both threads read it, each adds its half of k: one half is lost */
  part p[2] = {{a, b, c, lda, ldb, ldc, M, N, K, 0, K / 2},
               {a, b, c, lda, ldb, ldc, M, N, K, K / 2, K}};
  pthread_t h[2];
  for (int x = 0; x < 2; x++) pthread_create(h + x, 0, work, p + x);
  for (int x = 0; x < 2; x++) pthread_join(h[x], 0);"""
)

KNOWN = "(M == 24 && N == 18 || M * N * K < 800 || M == 64 && N % 64 == 0 || K == 1029)"

WRONG = {
    "last column left out": Wrong(
        "written",
        "were never written (columns",
        "EACH(i, M) EACH(j, N - 1) { SUM(float, A(i, k)); C(i, j) = s; } if (N == 1) NAIVE(float)",
    ),
    "last term left out": Wrong(
        "tolerance", "it equals the product without its last term", "PARTIAL(K > 1 ? K - 1 : K)"
    ),
    "indices swapped": Wrong("tolerance", "cells are wrong", "PRODUCT(float, A(k % M, i % K))"),
    "a block of k dropped": Wrong(
        "tolerance", "it equals the sum over k < 16 alone", "PARTIAL(K >= 16 ? K / 16 * 16 : K)"
    ),
    "A cut to 16 bits": Wrong(
        "sparse_terms",
        "it equals the product of A cut to 16 bits",
        "PRODUCT(float, K < 9 ? A(i, k) : half(A(i, k)))",
    ),
    "A in half precision where gamma_K is wide": Wrong(
        "sparse_terms",
        "of 117 cells are wrong",
        "PRODUCT(float, K < 1000 ? A(i, k) : (float)(_Float16)A(i, k))",
    ),
    "sums in half precision": Wrong(
        "exact_integers", "cells are wrong", "PRODUCT(_Float16, A(i, k))"
    ),
    "over-read of one element": Wrong(
        "memory",
        "after the end of B",
        NAIVE + "volatile float x = b[(K - 1) * ldb + N]; (void)x;",
    ),
    "scratch not set to zero": Wrong(
        "defined",
        "it reads memory that it has not written: scratch, heap or stack",
        """float *w = scratch;
        CELLS { float *x = w + (i * N + j) % 999;
          EACH(k, K) *x += A(i, k) * B(k, j);
          C(i, j) = *x; *x = 0; }""",
    ),
    "heap not set to zero": Wrong(
        "defined",
        "it reads memory that it has not written: scratch, heap or stack",
        """float *w = malloc(4096);
        CELLS { float *x = w + j % 999;
          EACH(k, K) *x += A(i, k) * B(k, j);
          C(i, j) = *x; *x = i == M - 1 ? 3 : 0; }
        free(w);""",
    ),
    "stack not set to zero": Wrong(
        "defined",
        "it reads memory that it has not written: scratch, heap or stack",
        """volatile float w[512];
        CELLS { float s = w[j % 512]; EACH(k, K) s += A(i, k) * B(k, j); C(i, j) = s; }""",
    ),
    "a heap block one element short": Wrong(
        "returns",
        "beyond a block that it allocated",
        """float *w = malloc(4 * N - 4);
        EACH(i, M) { EACH(j, N) { SUM(float, A(i, k)); w[j] = s; } EACH(j, N) C(i, j) = w[j]; }
        free(w);""",
    ),
    "a race between threads": Wrong("threads", "with more threads", RACE, SPLIT),
    "NaN only": Wrong("finite", "every cell is NaN", "CELLS C(i, j) = 0.0f / (K * 0.0f);"),
    "a constant fill": Wrong("constant", "every cell is 0 (constant fill)", "CELLS C(i, j) = 0;"),
    "one row only": Wrong(
        "written",
        "were never written (rows 1..",
        "EACH(i, 1) EACH(j, N) { SUM(float, A(i, k)); C(i, j) = s; }",
    ),
    "alignment beyond the contract": Wrong(
        "alignment",
        "on tensors aligned to one element it crashed with SIGSEGV",
        NAIVE
        + """
        if (M && K) __asm__ volatile("movaps (%0), %%xmm0" ::"r"(a) : "xmm0");""",
    ),
    "row strides ignored": Wrong(
        "strides", "with padded rows", "{ const int64_t lda = K; " + NAIVE + "}"
    ),
    "output stride ignored": Wrong(
        "padding",
        "writes the padding between the rows of C",
        "{ const int64_t ldc = N; " + NAIVE + "}",
    ),
    "nothing done for K = 0": Wrong(
        "empty_sum", "K = 0 must give zeros; 15 of 15", "if (K == 0) return 0;" + NAIVE
    ),
    "adds to the output": Wrong(
        "previous_output",
        "depends on what the output held before",
        "CELLS { SUM(float, A(i, k)); C(i, j) += s; }",
    ),
    "right at the known shapes only": Wrong(
        "tolerance", "cells are wrong", NAIVE + f"if (!{KNOWN}) C(M - 1, N - 1) += 1;"
    ),
    "an input changed": Wrong(
        "inputs_unchanged", "writes to its input A", NAIVE + "if (K) *(float *)a = 1;"
    ),
    "an earlier output again": Wrong(
        "fresh",
        "that of the call before",
        """static int n; static float w[4096];
        if (M * N > 4096) { NAIVE(float) return 0; }
        if (!n++) { NAIVE(float) CELLS w[i * N + j] = C(i, j); }
        CELLS C(i, j) = w[i * N + j];""",
    ),
    "other bits the second time": Wrong(
        "repeatable",
        "other bits the second time",
        """static int n; n++;
        CELLS { float s = 0;
          EACH(k, K) { int64_t q = n & 1 ? k : K - 1 - k; s += A(i, q) * B(q, j); }
          C(i, j) = s; }""",
    ),
    "denormals flushed": Wrong(
        "denormals",
        "for denormal inputs",
        """unsigned old = __builtin_ia32_stmxcsr();
        __builtin_ia32_ldmxcsr(old | 0x8040);"""
        + NAIVE
        + "__builtin_ia32_ldmxcsr(old);",
    ),
    "fast-math for the whole process": Wrong(
        "environment", "changed the floating-point environment", NAIVE, flags="-Ofast"
    ),
    "flush-to-zero left on": Wrong(
        "environment",
        "changed the floating-point environment",
        NAIVE + "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);",
    ),
    "zeros skipped": Wrong(
        "nonfinite",
        "cells are wrong",
        """CELLS { float s = 0;
          EACH(k, K) if (A(i, k) != 0) s += A(i, k) * B(k, j);
          C(i, j) = s; }""",
    ),
    "a hang": Wrong("returns", "no answer within", "for (volatile int x = 1; x;) ;"),
    "a crash": Wrong("returns", "crashed with SIGABRT", "abort();"),
    "an error code": Wrong("returns", "error code 5", "return 5;"),
    "a fork bomb": Wrong(
        "sandbox", "tried to", "EACH(x, 999) fork();" + NAIVE, "#include <unistd.h>\n"
    ),
    "a write outside its folder": Wrong(
        "sandbox",
        "tried to",
        NAIVE + 'FILE *f = fopen("/tmp/escaped", "w"); if (f) fputs("here", f);',
        "#include <stdio.h>\n",
    ),
    "another interface": Wrong("starts", "refused", NAIVE, "#define fw_call fw_call_other\n"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wrong")


def judged(library: Path, seed: int = 11) -> Validation:
    # Namespaces cost more than the calls; what they add is tested where sandboxes are.
    sandbox = Sandbox(allow=Level.LANDLOCK, limits=Limits(call_seconds=1.5))
    return validate(
        library,
        operator("gemm").contract(),
        WORKLOADS,
        seed=seed,
        threads=2,
        effort="quick",
        sandbox=sandbox,
    )


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_refused_by_the_responsible_check(folder: Path, name: str) -> None:
    wrong = WRONG[name]
    library = compile_kernel(
        folder, name.replace(" ", "_"), wrong.body, wrong.support, flags=wrong.flags
    )
    validation = judged(library)
    assert validation.verdict == "refuted"
    messages = {c.name: c.message for c in validation.refuted}
    assert wrong.clause in messages, messages
    assert wrong.words in messages[wrong.clause]
    assert messages[wrong.clause].startswith(f"{wrong.clause}: ")


@pytest.mark.parametrize("name", thinned(list(RIGHT)))
def test_right_kernels_pass_every_check(folder: Path, name: str) -> None:
    validation = judged(compile_kernel(folder, name, RIGHT[name]))
    assert [c.message for c in validation.checks if c.verdict != "held"] == []
    assert validation.verdict == "held"
    assert {c.name for c in validation.checks} == ALL - {"ahead"}
    assert all(c.runs > 0 and c.evidence == "tested" for c in validation.checks)


@pytest.mark.parametrize(
    ("after", "verdict"), [("", "held"), ("if (e[2]) ((float *)t[2])[0] += 1;", "refuted")]
)
def test_calls_on_prepared_inputs_are_checked_by_a_name_of_their_own(folder, after, verdict):
    name = f"ahead_{verdict}"
    library = compile_kernel(folder, name, NAIVE, AHEAD.replace("AFTER", after))
    contract = operator("gemm").contract(ahead=("B",))
    validation = validate(library, contract, WORKLOADS, seed=11, threads=2, effort="quick")
    assert validation.verdict == verdict
    assert {c.name for c in validation.checks} == ALL
    for check in validation.refuted:
        assert check.name == "ahead"
        assert "on inputs prepared ahead" in check.message


@pytest.mark.slow
def test_a_contract_without_empty_sums_does_not_ask_for_them(folder):
    library = compile_kernel(folder, "no_empty", "if (K < 1) return 1;" + NAIVE)
    contract = operator("gemm").contract(extents={"K": (1, 4096)})
    validation = validate(library, contract, WORKLOADS, seed=11, effort="quick")
    assert validation.verdict == "held"
    assert {c.name for c in validation.checks} == ALL - {"ahead", "threads", "empty_sum"}
    assert judged(library).refuted[0].message.startswith("returns: the kernel returned error")
