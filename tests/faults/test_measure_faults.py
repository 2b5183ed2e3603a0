"""Every way in which a kernel can be wrong or hostile has an outcome and a message of its own."""

import os
import re
from pathlib import Path

import measure_candidates as mc
import numpy as np
import pytest

from formwright.measure.layout import Placement
from formwright.measure.outcome import (
    Crashed,
    Failed,
    Failure,
    Forbidden,
    MeasureError,
    Mismatch,
    Mutated,
    Ok,
    OutOfBounds,
    Refused,
    Unwritten,
)
from formwright.measure.programs import Baseline, Native, missing
from formwright.measure.sandbox import Level, Limits, Sandbox, bubblewrap_works
from formwright.measure.session import Session
from formwright.measure.tensors import Case, Tensor

EXTENTS = (mc.M, mc.N, mc.K)
LEVELS = [Level.LANDLOCK, Level.BUBBLEWRAP]


def outcome_of(
    program: Native, sandbox: Sandbox | None = None, placement: Placement = "end"
) -> Ok | Failure:
    with Session(program, mc.tensors(), EXTENTS, placement=placement, sandbox=sandbox) as session:
        return session.evaluate(mc.case())


def test_a_right_kernel_passes_at_both_ends_of_its_pages(tmp_path: Path) -> None:
    program = mc.native("right(T, st, e);", tmp_path)
    assert outcome_of(program, placement="end") == Ok()
    assert outcome_of(program, placement="start") == Ok()


def test_right_outputs_of_several_cases_in_one_session(tmp_path: Path) -> None:
    program = mc.native("right(T, st, e);", tmp_path)
    with Session(program, mc.tensors(), EXTENTS, slots=3) as session:
        for number in range(6):
            assert session.evaluate(mc.case(number), number % 3) == Ok()
        np.testing.assert_allclose(session.output(2), mc.case(5).expected, rtol=1e-4, atol=1e-4)


WRONG: dict[str, tuple[str, type[Failure], str]] = {
    "tail": (
        "product(T, st, e, e[0], e[1] - 1, e[2]);",
        Unwritten,
        r"left 13 of 221 output cells unwritten, the first at \[0, 16\]",
    ),
    "dropped term": (
        "product(T, st, e, e[0], e[1], e[2] - 1);",
        Mismatch,
        r"221 of 221 output cells are wrong: \[0, 0\] is",
    ),
    "swapped indices": (
        "right(T, st, e); float x = C[1]; C[1] = C[st[2]]; C[st[2]] = x;",
        Mismatch,
        r"2 of 221 output cells are wrong: \[0, 1\] is",
    ),
    "over-read": (
        "right(T, st, e); volatile float x = A[(e[0] - 1) * st[0] + e[2]];",
        OutOfBounds,
        r"^reads byte 1 after the end of A$",
    ),
    "over-read of B": (
        "right(T, st, e); volatile float x = B[(e[2] - 1) * st[1] + e[1] + 1];",
        OutOfBounds,
        r"^reads byte 5 after the end of B$",
    ),
    "write outside": (
        "right(T, st, e); C[(e[0] - 1) * st[2] + e[1]] = 1;",
        OutOfBounds,
        r"^writes byte 1 after the end of C$",
    ),
    "write between rows": (
        "right(T, st, e); C[e[1]] = 1;",
        OutOfBounds,
        r"^writes the padding between the rows of C$",
    ),
    "unwritten": ("", Unwritten, r"left 221 of 221 output cells unwritten"),
    "reads its output": (
        "float x = C[3]; right(T, st, e); C[3] += 0 * x;",
        Mismatch,
        r"1 of 221 output cells are NaN where the reference is a number, the first at \[0, 3\]",
    ),
    "reads scratch it never wrote": (
        "right(T, st, e); C[0] += 0 * ((float *)scratch)[7];",
        Mismatch,
        r"1 of 221 output cells are NaN",
    ),
    "NaN only": (
        "for (int i = 0; i < e[0]; i++) for (int j = 0; j < e[1]; j++) C[i * st[2] + j] = NAN;",
        Mismatch,
        r"221 of 221 output cells are NaN where the reference is a number",
    ),
    "constant": (
        "for (int i = 0; i < e[0]; i++) for (int j = 0; j < e[1]; j++) C[i * st[2] + j] = 1;",
        Mismatch,
        r"every output cell is 1, a constant",
    ),
    "mutated input": ("((float *)A)[4] = 0; right(T, st, e);", Mutated, r"^writes to its input A$"),
    "mutated input after mprotect": (
        "mprotect((void *)((uintptr_t)B & ~4095L), 4096, 3); ((float *)B)[0] = 0; right(T, st, e);",
        Mutated,
        r"^writes to its input B$",
    ),
    "segfault": (
        "*(volatile int *)8 = 1;",
        Crashed,
        r"^crashed with SIGSEGV: write of memory that is not mapped$",
    ),
    "illegal instruction": ("__builtin_trap();", Crashed, r"^crashed with SIGILL$"),
    "abort": ("abort();", Crashed, r"^crashed with SIGABRT$"),
    "exit": ("_exit(7);", Crashed, r"^the process ended without an answer: exit status 7$"),
    "exit as if done": ("_exit(0);", Crashed, r"^the process ended without an answer"),
    "error code": ("return 5;", Failed, r"^the kernel returned error code 5$"),
    "network": (
        "socket(AF_INET, SOCK_STREAM, 0);",
        Forbidden,
        r"^tried to open a network connection \(socket\), which the sandbox forbids$",
    ),
    "fork bomb": (
        "for (int i = 0; i < 6; i++) fork();",
        Forbidden,
        r"^tried to start a process \((clone|fork)\), which the sandbox forbids$",
    ),
    "execute": (
        'execl("/bin/true", "true", (char *)0);',
        Forbidden,
        r"^tried to start a process \(execve\)",
    ),
    "kill the parent": (
        "kill(getppid(), 0);",
        Forbidden,
        r"^tried to send a signal to a process \(kill\)",
    ),
    "remove a file": (
        'unlink("/nowhere/at/all");',
        Forbidden,
        r"^tried to change the file system \(unlink\)",
    ),
    "leave the group": ("setsid();", Forbidden, r"^tried to leave its process group \(setsid\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernels_never_pass(name: str, tmp_path: Path) -> None:
    body, kind, message = WRONG[name]
    outcome = outcome_of(mc.native(body, tmp_path))
    assert isinstance(outcome, kind), outcome.message
    assert re.search(message, outcome.message), outcome.message


def test_under_read_faults_at_the_start(tmp_path: Path) -> None:
    program = mc.native("right(T, st, e); volatile float x = B[-1];", tmp_path)
    assert outcome_of(program, placement="start") == OutOfBounds("B", "read", "before", 4)


def test_cached_output_is_stale_when_inputs_change_in_place(tmp_path: Path) -> None:
    body = (
        "if (!kept) { right(T, st, e); kept = malloc(8192); memcpy(kept, C, bytes_of(st, e)); }"
        "else memcpy(C, kept, bytes_of(st, e));"
    )
    globals = (
        "static float *kept; static size_t bytes_of(const int64_t *st, const int64_t *e)"
        " { return 4 * ((e[0] - 1) * st[2] + e[1]); }"
    )
    with Session(mc.native(body, tmp_path, globals), mc.tensors(pad=0), EXTENTS) as session:
        assert session.evaluate(mc.case(1)) == Ok()
        outcome = session.evaluate(mc.case(2))
    assert isinstance(outcome, Mismatch)
    assert outcome.message.startswith("returned the output of an earlier call, for inputs that")


def _ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_hang_is_killed_at_the_deadline(tmp_path: Path) -> None:
    program = mc.native("for (;;) ;", tmp_path)
    sandbox = Sandbox(limits=Limits(call_seconds=0.3))
    with Session(program, mc.tensors(), EXTENTS, sandbox=sandbox) as session:
        pid = session.child.pid
        outcome = session.evaluate(mc.case())
        assert outcome.message == "hung: no answer within 0.3 s, killed"
        assert not session.alive
        assert _ended(pid)
        assert isinstance(session.call(), Refused)


def test_hang_in_a_constructor_is_killed_too(tmp_path: Path) -> None:
    program = mc.native("", tmp_path, "__attribute__((constructor)) void c(void) { for (;;) ; }")
    sandbox = Sandbox(limits=Limits(start_seconds=0.5))
    with pytest.raises(MeasureError, match="hung: no answer within"):
        outcome_of(program, sandbox)


@pytest.mark.parametrize("level", LEVELS)
def test_writes_outside_its_folder_do_not_happen(level: Level, tmp_path: Path) -> None:
    target = tmp_path / "written"
    body = f'int f = open("{target}", O_CREAT | O_WRONLY, 0600); write(f, "x", 1); right(T, st, e);'
    outcome = outcome_of(mc.native(body, tmp_path), Sandbox(allow=level))
    assert outcome == Forbidden("write to a file", "openat")
    assert not target.exists()


def _needs(level: Level) -> None:
    if level == Level.BUBBLEWRAP and not bubblewrap_works():
        pytest.skip("bubblewrap cannot make namespaces here")


@pytest.mark.parametrize("level", LEVELS)
def test_files_of_the_user_cannot_be_read(level: Level, tmp_path: Path) -> None:
    _needs(level)
    secret = tmp_path / "expected.npy"
    secret.write_text("the reference")
    body = f'if (open("{secret}", O_RDONLY) >= 0) return 9; right(T, st, e);'
    assert outcome_of(mc.native(body, tmp_path), Sandbox(allow=level)) == Ok()


@pytest.mark.parametrize("level", LEVELS)
def test_the_expected_output_cannot_be_read_from_the_parent(level: Level, tmp_path: Path) -> None:
    _needs(level)
    parent = os.getpid()
    body = f'if (open("/proc/{parent}/mem", O_RDONLY) >= 0) return 9; right(T, st, e);'
    assert outcome_of(mc.native(body, tmp_path), Sandbox(allow=level)) == Ok()
    copy = (
        "char buffer[64]; struct iovec to = {buffer, 64}, from = {(void *)4096, 64};"
        f"process_vm_readv({parent}, &to, 1, &from, 1, 0);"
    )
    outcome = outcome_of(mc.native(copy, tmp_path), Sandbox(allow=level))
    assert outcome == Forbidden("look into another process", "process_vm_readv")


@pytest.mark.parametrize("place", ["reference", "input"])
def test_the_expected_output_is_nowhere_in_its_memory(place: str, tmp_path: Path) -> None:
    """The child looks through all that it can read for eight bytes of the parent's choice.

    It finds them in its inputs, so it can look; it does not find those of the reference.
    """
    secret = np.float64(0.7314159265358979)
    pattern = int(secret.view(np.uint64)) ^ 0x5555555555555555
    body = f"""
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) return 8;
    char line[512];
    while (fgets(line, sizeof line, maps)) {{
        unsigned long lo, hi; char r;
        if (sscanf(line, "%lx-%lx %c", &lo, &hi, &r) != 3) continue;
        if (r != 'r' || strstr(line, "[v")) continue;
        for (volatile uint32_t *p = (void *)lo; p + 1 < (uint32_t *)hi; p++)
            if ((((uint64_t)p[1] << 32 | p[0]) ^ 0x5555555555555555UL) == {pattern}UL) return 9;
    }}
    right(T, st, e);
    """
    right = mc.case()
    a, expected = right.inputs[0].copy(), right.expected.copy()
    if place == "input":
        a[3, 2:4] = secret.reshape(1).view(np.float32)
    else:
        expected[0, 0] = secret
    case = Case((a, right.inputs[1]), expected, np.full_like(right.tolerance, np.inf))
    sandbox = Sandbox(allow=Level.SECCOMP)  # /proc is there to be looked at
    with Session(mc.native(body, tmp_path), mc.tensors(), EXTENTS, sandbox=sandbox) as session:
        assert session.evaluate(case) == (Ok() if place == "reference" else Failed(9))


def test_the_environment_is_not_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", "not for candidates")
    body = """
    extern char **environ;
    for (char **v = environ; *v; v++) if (strstr(*v, "not for candidates")) return 9;
    int f = open("/proc/self/environ", O_RDONLY); char text[4096] = {0};
    if (f >= 0) read(f, text, 4095);
    for (int i = 0; i < 4000; i++) if (!strncmp(text + i, "SERVICE_API_KEY", 15)) return 9;
    right(T, st, e);
    """
    assert outcome_of(mc.native(body, tmp_path)) == Ok()


def test_memory_is_limited(tmp_path: Path) -> None:
    body = "right(T, st, e); if (malloc(1L << 34)) return 9;"
    assert outcome_of(mc.native(body, tmp_path)) == Ok()


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (mc.Candidate("", abi=2), "another version of the ABI"),
        (mc.Candidate("", cpu_ok=0), "lacks instructions"),
        (mc.Candidate("", scratch=1 << 40), "more scratch memory than the limit"),
        (mc.Candidate("undefined_function();"), "undefined symbol"),
    ],
)
def test_libraries_that_do_not_fit_are_refused(
    candidate: mc.Candidate, message: str, tmp_path: Path
) -> None:
    program = Native(mc.compiled(candidate, tmp_path))
    with pytest.raises(MeasureError, match=message) as caught:
        outcome_of(program)
    assert isinstance(caught.value.outcome, Refused)


def test_a_level_that_is_required_and_not_reached_is_refused(tmp_path: Path) -> None:
    program = mc.native("right(T, st, e);", tmp_path)
    sandbox = Sandbox(require=Level.BUBBLEWRAP, allow=Level.SECCOMP)
    with pytest.raises(MeasureError, match="reaches level seccomp here and bubblewrap is required"):
        outcome_of(program, sandbox)


@pytest.mark.parametrize("level", list(Level))
def test_the_level_that_is_reached_is_known(level: Level, tmp_path: Path) -> None:
    _needs(level)
    program = mc.native("right(T, st, e);", tmp_path)
    with Session(program, mc.tensors(), EXTENTS, sandbox=Sandbox(allow=level)) as session:
        assert session.level == level
        assert session.evaluate(mc.case()) == Ok()


def test_missing_programs_are_reported() -> None:
    absent = Native(Path("/nowhere/kernel.so"))
    assert missing(absent) == "/nowhere/kernel.so does not exist"
    with pytest.raises(MeasureError, match="does not exist"):
        Session(absent, mc.tensors(), EXTENTS)


def test_numpy_runs_by_the_same_protocol_and_may_not_write_its_inputs() -> None:
    with Session(Baseline("numpy"), mc.tensors(), EXTENTS, slots=2) as session:
        assert session.evaluate(mc.case(3), 1) == Ok()


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 0), (3, 5, 0), (64, 1, 2)])
def test_odd_shapes_stand_between_guard_pages(shape: tuple[int, int, int], tmp_path: Path) -> None:
    program = mc.native("right(T, st, e);", tmp_path)
    tensors: tuple[Tensor, ...] = mc.tensors(shape, pad=0)
    for placement in ("start", "end", "spread"):
        with Session(program, tensors, shape, placement=placement) as session:
            assert session.evaluate(mc.case(0, shape)) == Ok()
