"""Sanitizer builds: right kernels hold, planted faults are found, what cannot run is unresolved."""

from pathlib import Path

import pytest

from formwright.codegen.build import FLAGS, LINK, find_compiler
from formwright.contract.operators import operator
from formwright.qualify import program
from formwright.qualify.other_builds import objections, sanitizer_evidence
from formwright.qualify.sanitized import MEMORY, RACES, Outcome, Sanitizer, run_sanitized

CONTRACT = operator("gemm").contract()
SHAPES = ({"M": 5, "N": 4, "K": 3},)
HEAD = """
#include <pthread.h>
#include <stdint.h>
int64_t fw_scratch_bytes(const int64_t *e, int32_t t) { return 64; }
static void rows(void *const *T, const int64_t *s, const int64_t *e, int64_t lo, int64_t hi) {
    const float *A = T[0], *B = T[1];
    float *C = T[2];
    for (int64_t i = lo; i < hi; i++)
        for (int64_t j = 0; j < e[1]; j++) {
            float sum = 0;
            for (int64_t k = 0; k < e[2]; k++) sum += A[i * s[0] + k] * B[k * s[1] + j];
            C[i * s[2] + j] = sum;
        }
}
struct half { void *const *T; const int64_t *s, *e; };
static int shared;
static void *second(void *given) {
    struct half *h = given;
    rows(h->T, h->s, h->e, h->e[0] / 2, h->e[0]);
    %(second)s
    return 0;
}
int32_t fw_call(void *const *T, const int64_t *s, const int64_t *e, void *scratch, int64_t bytes,
                int32_t threads) {
    float *C = T[2];
    struct half h = {T, s, e};
    pthread_t other;
    if (threads > 1) pthread_create(&other, 0, second, &h);
    rows(T, s, e, 0, threads > 1 ? e[0] / 2 : e[0]);
    %(body)s
    if (threads > 1) pthread_join(other, 0);
    return 0;
}
"""


def _run(
    sanitizer: Sanitizer, folder: Path, body: str = "", second: str = "", alone: bool = False
) -> Outcome:
    source = HEAD % {"body": body, "second": second}
    if alone:
        source = source.replace("threads > 1", "threads > 9")
    command = (*find_compiler(), *FLAGS, "-o", "kernel.so", "kernel.c", *LINK)
    return run_sanitized(sanitizer, {"kernel.c": source}, command, CONTRACT, SHAPES, 1, folder)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("C[20] = 1;", "heap-buffer-overflow"),
        ("*((char *)scratch + 64) = 1;", "heap-buffer-overflow"),
        ("volatile int32_t big = 2147483647; big = big + (int32_t)e[0];", "overflow"),
        ("C[3] += 1;", "(at M=5"),
    ],
)
def test_faults_of_one_thread(body: str, said: str, tmp_path: Path) -> None:
    found = _run(MEMORY, tmp_path, body)
    assert found.verdict == "refuted", found.detail
    assert said in found.detail
    assert "at M=5, N=4, K=3" in found.detail
    assert str(tmp_path) not in found.detail


def test_races_are_found(tmp_path: Path) -> None:
    held = _run(RACES, tmp_path / "a")
    if "FATAL" in held.detail or "no build" in held.detail:
        assert held.verdict == "unresolved"
        pytest.skip(held.detail)
    assert (held.verdict, held.threads) == ("held", 2)
    alone = _run(RACES, tmp_path / "c", alone=True)
    assert (alone.verdict, alone.threads) == ("unresolved", 1)
    assert "no race could be seen" in alone.detail
    # Two threads that a busy machine runs one after the other do not race in that run.
    tries = (_run(RACES, tmp_path / f"b{n}", "shared++;", "shared++;") for n in range(5))
    raced = next((found for found in tries if found.verdict == "refuted"), None)
    assert raced is not None
    assert "data race" in raced.detail


def test_what_the_compiler_cannot_do_is_unresolved(tmp_path: Path) -> None:
    strange = Sanitizer("nothing", ("-fsanitize=nothing-that-exists",), "", 1)
    found = _run(strange, tmp_path)
    assert found.verdict == "unresolved"
    assert found.detail.startswith("no build: ")
    assert found.runs == 0


@pytest.mark.slow
def test_what_does_not_answer_is_unresolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "SECONDS", 1.0)
    plain = Sanitizer("none", ("-O1",), "", 1)
    found = _run(plain, tmp_path / "a", "for (volatile int i = 1; i;) ;")
    assert (found.verdict, found.runs) == ("unresolved", 1)
    assert "no answer within 1 s" in found.detail
    assert _run(plain, tmp_path / "b", "if (e[0] == 5) return 7;").detail.startswith(
        "the call returned error 7"
    )


def test_entries_say_how_the_build_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = {
        MEMORY.name: Outcome("refuted", "SUMMARY: a fault", 2, 1, ("gcc",), "gcc 12", "plain"),
        RACES.name: Outcome("unresolved", "no build: why", 0, 0, ("gcc",), "gcc 12", "plain"),
    }

    def answer(sanitizer: Sanitizer, *_: object) -> Outcome:
        return outcomes[sanitizer.name]

    monkeypatch.setattr("formwright.qualify.other_builds.run_sanitized", answer)
    entries = sanitizer_evidence({"kernel.c": ""}, ("gcc",), CONTRACT, 3, {"K": (64,)})
    first, second = entries
    assert first["evidence"] == second["evidence"] == "tested"
    assert "-fsanitize=address,undefined" in first["difference"]
    assert "units" not in first["difference"]
    units = {"kernel.c": "fw_product_by_units(&g, 16, 16, 0);"}
    (other, _) = sanitizer_evidence(units, ("gcc",), CONTRACT, 3, {"K": (64,)})
    assert "made by vectors, not by the units for them" in other["difference"]
    assert len(first["shapes"]) == 2
    assert second["shapes"] == []
    assert objections(entries) == ("sanitizer: address and undefined behaviour: SUMMARY: a fault",)
