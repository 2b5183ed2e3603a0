"""The timing protocol: the clock is the parent's, and ways to cheat it have their own messages."""

import re
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace

import measure_candidates as mc
import pytest

from formwright.contract.operators.family import Negate
from formwright.measure import batches
from formwright.measure.batches import check_busy, went_on
from formwright.measure.outcome import (
    Failure,
    Forbidden,
    Lingering,
    MeasureError,
    Mismatch,
    Ok,
    Overdrawn,
    Refused,
    Unwritten,
)
from formwright.measure.plan import Plan
from formwright.measure.programs import Baseline, Native, Program
from formwright.measure.session import Batch, Session
from formwright.measure.statistics import Distribution, median_interval, ratio
from formwright.measure.timing import Result, measure_interleaved
from formwright.measure.workload import SymmetricWorkload

SHAPE = (24, 40, 32)
QUICK = Plan(rounds=3, batch_seconds=0.004, slots=8, memory_bytes=4 << 20)
SPIN = """
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
                          return t.tv_sec + 1e-9 * t.tv_nsec; }
static void spin(double seconds) { double end = now() + seconds; while (now() < end) ; }
"""


SIGNS = (Negate(((0, 0),), 0), Negate(((1, 1),), 1))


def workload() -> SymmetricWorkload:
    cases = (mc.case(1, SHAPE), mc.case(2, SHAPE))
    return SymmetricWorkload(mc.tensors(SHAPE), SHAPE, cases, SIGNS)


def timed(programs: dict[str, Program], plan: Plan = QUICK) -> dict[str, Result]:
    return measure_interleaved(programs, workload(), seed=7, plan=plan)


def failure_of(program: Native, plan: Plan = QUICK) -> Failure:
    result = timed({"candidate": program}, plan)["candidate"]
    assert not isinstance(result, Distribution)
    return result


def test_the_time_of_a_call_is_found_and_compared(tmp_path: Path) -> None:
    for name in ("fast", "slow"):
        (tmp_path / name).mkdir()
    programs: dict[str, Program] = {
        "fast": mc.native("right(T, st, e); spin(1e-3);", tmp_path / "fast", SPIN),
        "slow": mc.native("right(T, st, e); spin(2e-3);", tmp_path / "slow", SPIN),
        "numpy": Baseline("numpy"),
        "absent": Native(tmp_path / "absent.so"),
    }
    results = timed(programs, Plan(rounds=5, batch_seconds=0.008, slots=8))
    fast, slow, numpy, absent = (results[name] for name in programs)
    assert isinstance(fast, Distribution)
    assert isinstance(slow, Distribution)
    assert isinstance(numpy, Distribution)
    # The spin is a floor that no load can lower; what was taken off is at most 200 us a batch.
    # Other work on the machine can only lengthen a round: the quickest one says the rest.
    quickest, slower = (min(s.seconds for s in d.samples) for d in (fast, slow))
    assert 0.9e-3 < quickest < 3e-3
    assert 1.9e-3 < slower < 6e-3
    assert slower / quickest > 1.3
    assert fast.seconds.low <= fast.median <= fast.seconds.high
    assert len(fast.samples) == 5
    assert ratio(slow, fast).low > 0
    assert isinstance(absent, Refused)


def test_progress_is_told(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    programs: dict[str, Program] = {"right": mc.native("right(T, st, e);", tmp_path)}
    plan = Plan(rounds=2, batch_seconds=0.001, slots=4)
    measure_interleaved(
        programs, workload(), seed=1, plan=plan, progress=lambda d, n: seen.append((d, n))
    )
    assert seen == [(1, 2), (2, 2)]


def test_cached_output_is_caught_between_batches(tmp_path: Path) -> None:
    body = """
    static float *kept[64]; static void *of[64]; static int count;
    size_t size = 4 * ((e[0] - 1) * st[2] + e[1]);
    for (int i = 0; i < count; i++) if (of[i] == C) { memcpy(C, kept[i], size); return 0; }
    right(T, st, e);
    kept[count] = malloc(size); memcpy(kept[count], C, size); of[count++] = C;
    """
    outcome = failure_of(mc.native(body, tmp_path))
    assert isinstance(outcome, Mismatch)
    assert outcome.pattern == "stale"


def test_work_left_for_after_done_is_not_there_when_looked_at(tmp_path: Path) -> None:
    globals = """
    struct job { void *T[3]; int64_t st[3], e[3]; };
    static void *later(void *j) { struct job *w = j; usleep(50000); right(w->T, w->st, w->e); }
    """
    body = """
    struct job *w = malloc(sizeof *w); pthread_t thread;
    memcpy(w->T, T, sizeof w->T); memcpy(w->st, st, sizeof w->st); memcpy(w->e, e, sizeof w->e);
    pthread_create(&thread, NULL, later, w); pthread_detach(thread);
    """
    outcome = failure_of(mc.native(body, tmp_path, globals))
    # Which of the two depends on whether the thread waited for a core before it slept.
    assert isinstance(outcome, (Unwritten, Overdrawn))


def test_saying_done_early_gains_nothing(tmp_path: Path) -> None:
    """It finds the channel and answers for the worker, then goes on computing."""
    body = """
    uint32_t reply[64] = {2};
    for (int f = 3; f < 200; f++) send(f, reply, 256, MSG_NOSIGNAL | MSG_DONTWAIT);
    spin(0.02); right(T, st, e);
    """
    outcome = failure_of(mc.native(body, tmp_path, SPIN))
    assert isinstance(outcome, Unwritten), outcome.message


def test_threads_that_go_on_after_done_are_noticed(tmp_path: Path) -> None:
    globals = "static void *forever(void *x) { for (;;) ; }"
    body = """
    static int started; pthread_t thread;
    right(T, st, e);
    if (!started++) pthread_create(&thread, NULL, forever, NULL);
    """
    outcome = failure_of(mc.native(body, tmp_path, globals))
    assert isinstance(outcome, (Lingering, Overdrawn))
    assert re.search("went on running after `done`|was busy for", outcome.message)


def test_more_threads_than_were_given_are_noticed(tmp_path: Path) -> None:
    """Whether they run or wait for a core: so this holds on a loaded machine too."""
    globals = (
        SPIN
        + """
    static void *help(void *x) {
        cpu_set_t all; memset(&all, 0xFF, sizeof all); sched_setaffinity(0, sizeof all, &all);
        spin(0.02);
        struct timespec ever = {1000, 0}; nanosleep(&ever, NULL);
    }
    """
    )
    body = """
    pthread_t crew[3];
    for (int i = 0; i < 3; i++) pthread_create(crew + i, NULL, help, NULL);
    spin(0.025); right(T, st, e);
    """
    outcome = failure_of(mc.native(body, tmp_path, globals))
    assert isinstance(outcome, Overdrawn)
    assert "with 1 thread(s): it computes where the clock does not look" in outcome.message


@pytest.mark.parametrize(
    ("batch", "failure"),
    [
        (Batch(9, 0.02, 0.0201, 0.0200, 0.0, 0.0, True), None),
        (Batch(9, 0.02, 0.0201, 0.0100, 0.0, 0.0101, True), None),
        (Batch(9, 0.02, 0.0201, 0.0210, 0.0, 0.0, True), Overdrawn),
        (Batch(9, 0.02, 0.0201, 0.0120, 0.0, 0.0120, True), Overdrawn),
        # Threads that waited for a core before the start say nothing about this batch.
        (Batch(9, 0.02, 0.0201, 0.0120, 0.0, 0.0120, False), None),
    ],
)
def test_how_busy_a_kernel_may_be(batch: Batch, failure: type[Failure] | None) -> None:
    check_busy(batch, 2)  # two threads may
    if failure is None:
        check_busy(batch, 1)
        return
    with pytest.raises(MeasureError) as caught:
        check_busy(batch, 1)
    assert isinstance(caught.value.outcome, failure)


def test_what_may_go_on_after_done() -> None:
    slow_to_stop = Batch(9, 0.02, 0.0250, 0.0240, 0.0040, 0.0, True)
    assert went_on(slow_to_stop, 1) == Lingering(0.004, pytest.approx(0.005))
    assert went_on(slow_to_stop, 2) is None  # a pool that waits actively
    assert went_on(Batch(9, 0.02, 0.0202, 0.0200, 0.0040, 0.0, True), 1) is None  # an old figure


def _batches(monkeypatch: pytest.MonkeyPatch, given: Iterator[Batch]) -> Batch:
    """What ``_batch`` makes of these batches of a program with two threads."""
    program = object.__new__(Native)
    object.__setattr__(program, "threads", 2)
    monkeypatch.setattr(batches, "one_batch", lambda *_: next(given))
    return batches.run_batch(SimpleNamespace(program=program), (), None)  # type: ignore[arg-type]


def test_a_clock_that_is_read_late_is_no_strike_against_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine a waiting pool and an old figure of the kernel look like four strikes."""
    late = Batch(9, 0.02, 0.0203, 0.0400, 0.0040, 0.0, True)
    assert went_on(late, 2) is not None
    good = Batch(9, 0.02, 0.0201, 0.0400, 0.0, 0.0, True)
    assert _batches(monkeypatch, iter([late] * 10 + [good])) is good


def test_one_that_goes_on_is_refused_however_late_we_are(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Batch(9, 0.02, 0.0203, 0.0400, 0.0040, 0.0, True)
    with pytest.raises(MeasureError) as caught:
        _batches(monkeypatch, repeat(late))
    assert isinstance(caught.value.outcome, Lingering)


def test_answers_that_nobody_asked_for_are_noticed(tmp_path: Path) -> None:
    body = """
    uint32_t reply[64] = {2};
    right(T, st, e);
    for (int f = 3; f < 200; f++) send(f, reply, 256, MSG_NOSIGNAL | MSG_DONTWAIT);
    """
    program = mc.native(body, tmp_path)
    with Session(program, mc.tensors(SHAPE), SHAPE) as session:
        assert session.evaluate(mc.case(1, SHAPE)) == Ok()
        outcome = session.evaluate(mc.case(2, SHAPE))
        assert outcome == Forbidden("answer in the worker's place", "send")


AHEAD = """
int64_t fw_ahead_bytes(const int64_t *e) { return 4 * (e[1] * e[2] + e[0] * e[1]); }
int32_t fw_prepare(void *const *T, const int64_t *st, const int64_t *e, void *s, int64_t n,
                   int32_t threads, void *ahead) {
    float *packed = ahead; const float *B = T[1];
    for (int64_t l = 0; l < e[2]; l++) memcpy(packed + l * e[1], B + l * st[1], 4 * e[1]);
    %s
    return 0;
}
int32_t fw_call_ahead(void *const *T, const int64_t *st, const int64_t *e, void *s, int64_t n,
                      int32_t threads, const void *ahead) {
    %s
    return 0;
}
"""
PACKED = """
    void *tensors[3] = {T[0], (void *)ahead, T[2]};
    int64_t strides[3] = {st[0], e[1], st[2]};
    right(tensors, strides, e);
"""


def test_packing_ahead_stands_outside_the_clock(tmp_path: Path) -> None:
    library = mc.native("return 1;", tmp_path, SPIN + AHEAD % ("spin(0.03);", PACKED)).library
    result = timed({"ahead": Native(library, ahead=("B",))})["ahead"]
    assert isinstance(result, Distribution), result.message
    assert min(s.seconds for s in result.samples) < 0.03


def test_a_product_computed_while_packing_is_caught(tmp_path: Path) -> None:
    early = "float *C = packed + e[1] * e[2]; void *t[3] = {T[0], T[1], C};"
    early += "int64_t s3[3] = {st[0], st[1], e[1]}; right(t, s3, e);"
    copy = "const float *c = (const float *)ahead + e[1] * e[2]; float *C = T[2];"
    copy += "for (int64_t i = 0; i < e[0]; i++) memcpy(C + i * st[2], c + i * e[1], 4 * e[1]);"
    library = mc.native("return 1;", tmp_path, AHEAD % (early, copy)).library
    outcome = failure_of(Native(library, ahead=("B",)))
    assert isinstance(outcome, Mismatch)


def test_one_bad_candidate_does_not_end_the_run(tmp_path: Path) -> None:
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
    programs: dict[str, Program] = {
        "bad": mc.native("abort();", tmp_path / "bad"),
        "good": mc.native("right(T, st, e);", tmp_path / "good"),
    }
    results = timed(programs, Plan(rounds=2, batch_seconds=0.001, slots=4))
    assert list(results) == ["bad", "good"]
    assert not isinstance(results["bad"], Distribution)
    assert results["bad"].message == "crashed with SIGABRT"
    assert isinstance(results["good"], Distribution)


def test_a_median_interval_holds_the_median() -> None:
    interval = median_interval([3.0, 1.0, 2.0, 5.0, 4.0])
    assert interval.median == 3.0
    assert 1.0 <= interval.low <= 3.0 <= interval.high <= 5.0
    assert median_interval([3.0, 1.0, 2.0, 5.0, 4.0]) == interval
    with pytest.raises(ValueError, match="no values"):
        median_interval([])


def test_a_session_ends_quickly(tmp_path: Path) -> None:
    start = time.monotonic()
    timed({"right": mc.native("right(T, st, e);", tmp_path)}, Plan(rounds=1, slots=4))
    assert time.monotonic() - start < 10
