"""``formwright.load``: inside the contract the very library, outside it NumPy, aloud."""

import json
import os
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from qualify_kernels import AHEAD, RIGHT, compile_kernel

import formwright
from formwright.codegen import build, emit_c, target_named
from formwright.contract.contract import contract_data, contract_digest
from formwright.contract.operators import operator
from formwright.lang import load
from formwright.qualify.artifact import ArtifactError, write_artifact


def put_artifact(
    library: Path, folder: Path, ahead: tuple[str, ...] = (), family: str = "gemm"
) -> Path:
    contract = operator(family).contract(ahead=ahead)
    files = {
        "kernel.so": library.read_bytes(),
        "kernel.c": library.with_suffix(".c").read_bytes(),
        "template.fw": b"",
        "kernel.h": b"",
        "assignment.json": b"{}",
        "contract.json": json.dumps(contract_data(contract)).encode(),
    }
    record = {"contract": {"digest": contract_digest(contract)}, "threads": 2}
    return write_artifact(folder, files, record)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    return compile_kernel(folder, "naive", RIGHT["naive"])


@pytest.fixture(scope="module")
def artifact(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return put_artifact(built, tmp_path_factory.mktemp("artifacts") / "naive")


@pytest.fixture
def kernel(artifact: Path) -> formwright.Kernel:
    return formwright.load(artifact)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).integers(-8, 9, shape).astype(np.float32)


def silent(kernel: formwright.Kernel, *args: np.ndarray, **out: np.ndarray) -> np.ndarray:
    """The call, failing the test if it falls back."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", formwright.FallbackWarning)
        return kernel(*args, **out)


@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 1, 1), (64, 64, 24), (64, 128, 200), (5, 1, 3), (1, 7, 2)]
)
def test_it_computes_the_product_by_the_library(kernel, m, n, k):
    a, b = draw(m, k), draw(k, n)
    assert np.array_equal(silent(kernel, a, b), a @ b)


def test_padded_rows_are_inside_the_domain(kernel):
    a, b = draw(6, 40)[:, 3:20], draw(17, 33)[:, :9]
    c = np.full((6, 20), np.float32(5))
    silent(kernel, a, b, out=c[:, 4:13])
    assert np.array_equal(c[:, 4:13], a @ b)
    assert (c[:, :4] == 5).all()
    assert (c[:, 13:] == 5).all()


def test_no_terms_give_zeros_whatever_the_output_held(kernel):
    c = np.full((3, 4), np.nan, np.float32)
    silent(kernel, draw(3, 0), draw(0, 4), out=c)
    assert np.array_equal(c, np.zeros((3, 4), np.float32))


def test_empty_outputs_are_empty(kernel):
    assert silent(kernel, draw(0, 4), draw(4, 3)).shape == (0, 3)
    assert silent(kernel, draw(2, 4), draw(4, 0)).shape == (2, 0)


def test_the_over_read_cases_of_other_libraries(kernel):
    wide = np.zeros((1, 31509), np.float32)
    wide[:, :126] = draw(1, 126)
    assert np.array_equal(silent(kernel, draw(126, 1), wide[:, :126]), draw(126, 1) @ wide[:, :126])


OUTSIDE = {
    "dtype": lambda: (draw(4, 4).astype(np.float64), draw(4, 4), None),
    "layout": lambda: (np.asfortranarray(draw(4, 5)), draw(5, 4), None),
    "layout-strided-out": lambda: (draw(4, 4), draw(4, 4), draw(4, 8)[:, ::2]),
    "layout-transposed-out": lambda: (draw(3, 4), draw(4, 5), draw(5, 3).T),
    "layout-broadcast": lambda: (np.broadcast_to(draw(1, 4), (3, 4)), draw(4, 4), None),
    "layout-backwards": lambda: (draw(4, 4)[::-1], draw(4, 4), None),
    "alignment": lambda: (odd(4, 4), draw(4, 4), None),
    "aliasing": lambda: same(draw(4, 4)),
    "layout-and-aliasing": lambda: transposed(draw(4, 4)),
    "aliasing-partly": lambda: partly(draw(8, 4)),
}


def odd(m: int, n: int) -> np.ndarray:
    raw = np.zeros(4 * m * n + 1, np.uint8)[1:]
    array = raw.view(np.float32).reshape(m, n)
    array[...] = draw(m, n)
    return array


def same(x):
    return x, x, x


def transposed(x):
    return x, x.T, x


def partly(x):
    return x[:4], draw(4, 4), x[2:6]


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_the_domain_numpy_computes_and_says_so_once(artifact, name):
    kernel = formwright.load(artifact)
    a, b, out = OUTSIDE[name]()
    wanted = a.copy() @ b.copy()
    with pytest.warns(formwright.FallbackWarning) as seen:
        got = kernel(a, b, out)
    assert np.array_equal(got, wanted)
    reason = kernel.reason(*OUTSIDE[name]())
    assert reason.kind == name.split("-")[0]
    assert reason.text in str(seen[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(*OUTSIDE[name]())


def test_columns_of_one_base_are_no_overlap(kernel):
    base = draw(6, 12)
    wanted = base[:, :6] @ base[:, :6]
    silent(kernel, base[:, :6], base[:, :6], out=base[:, 6:])
    assert np.array_equal(base[:, 6:], wanted)


def test_what_is_no_product_is_an_error(kernel):
    with pytest.raises(ValueError, match="K is 3 in A and 4 in B"):
        kernel(draw(2, 3), draw(4, 2))
    with pytest.raises(ValueError, match="A has 1 dimensions, it takes 2"):
        kernel(draw(3), draw(3, 2))
    with pytest.raises(ValueError, match="out has shape"):
        kernel(draw(2, 3), draw(3, 2), draw(2, 3))


def shared(m: int, n: int) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(np.zeros(n, np.float32), (m, n), (0, 4))


NO_NUMBERS = {
    "no real numbers": lambda: (draw(2, 3).astype(np.complex64), draw(3, 2), None),
    "no real numbers ": lambda: (draw(2, 3).astype(object), draw(3, 2), None),
    "its mask would be lost": lambda: (np.ma.array(draw(2, 3), mask=True), draw(3, 2), None),
    "out holds int32": lambda: (draw(2, 3), draw(3, 2), np.zeros((2, 2), np.int32)),
    "out holds complex64": lambda: (draw(2, 3), draw(3, 2), np.zeros((2, 2), np.complex64)),
    "cells of out share memory": lambda: (draw(2, 3), draw(3, 2), shared(2, 2)),
}


@pytest.mark.parametrize("words", NO_NUMBERS)
def test_what_would_be_lost_on_the_way_is_an_error(kernel, words):
    """NumPy behind it would drop the imaginary parts, round to integers, keep the last row."""
    with pytest.raises(ValueError, match=words.strip()):
        kernel(*NO_NUMBERS[words]())


def test_a_cpu_that_lacks_instructions_gets_numpy(tmp_path):
    library = compile_kernel(tmp_path, "other", "abort();", cpu_ok="0")
    kernel = formwright.load(put_artifact(library, tmp_path / "artifact"))
    with pytest.warns(formwright.FallbackWarning, match="CPU lacks instructions"):
        assert np.array_equal(kernel(draw(2, 3), draw(3, 2)), draw(2, 3) @ draw(3, 2))


def test_an_error_code_gets_numpy(tmp_path):
    library = compile_kernel(tmp_path, "failing", "return 3;")
    kernel = formwright.load(put_artifact(library, tmp_path / "artifact"))
    with pytest.warns(formwright.FallbackWarning, match="error 3"):
        assert np.array_equal(kernel(draw(2, 3), draw(3, 2)), draw(2, 3) @ draw(3, 2))


@pytest.mark.parametrize(
    "name", ["kernel.so", "kernel.c", "kernel.h", "contract.json", "assignment.json"]
)
def test_a_changed_or_missing_file_does_not_load(built, tmp_path, name):
    folder = put_artifact(built, tmp_path / "artifact")
    (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    with pytest.raises(ArtifactError, match=rf"{name} is not the file that was qualified"):
        formwright.load(folder)
    (folder / name).unlink()
    with pytest.raises(ArtifactError, match="No such file"):
        formwright.load(folder)


def test_a_record_that_is_none_does_not_load(built, tmp_path):
    folder = put_artifact(built, tmp_path / "artifact")
    record = json.loads((folder / "record.json").read_text())
    for text in ("{", "[]", json.dumps(record | {"schema": 99}), json.dumps({"schema": 1})):
        (folder / "record.json").write_text(text)
        with pytest.raises(ArtifactError):
            formwright.load(folder)
    for threads in (None, "x", 0, [1]):
        (folder / "record.json").write_text(json.dumps(record | {"threads": threads}))
        with pytest.raises(ArtifactError, match="number of threads"):
            formwright.load(folder)
    with pytest.raises(ArtifactError, match="not a folder"):
        formwright.load(tmp_path / "nowhere")


def test_a_newer_artifact_in_the_same_place_is_the_one_that_runs(built, tmp_path):
    a, b = draw(3, 3), draw(3, 3)
    first = formwright.load(put_artifact(built, tmp_path / "artifact"))
    other = compile_kernel(tmp_path, "fill", "EACH(i, M) EACH(j, N) C(i, j) = 7;")
    second = formwright.load(put_artifact(other, tmp_path / "artifact"))
    assert (second(a, b) == 7).all()
    assert np.array_equal(first(a, b), a @ b)


def test_flush_to_zero_does_not_leak(tmp_path):
    body = RIGHT["naive"]
    library = compile_kernel(tmp_path, "fast", body, flags="-Ofast")
    folder = put_artifact(library, tmp_path / "artifact")
    with pytest.raises(ArtifactError, match="flush-to-zero"):
        formwright.load(folder)
    assert sys.float_info.min / float("2") > 0
    setting = "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);" + body
    sly = formwright.load(put_artifact(compile_kernel(tmp_path, "sly", setting), tmp_path / "b"))
    with pytest.warns(formwright.FallbackWarning, match="rounding environment"):
        assert np.array_equal(sly(draw(2, 3), draw(3, 2)), draw(2, 3) @ draw(3, 2))
    assert sys.float_info.min / float("2") > 0
    assert sly.reason(draw(2, 2), draw(2, 2)).kind == "environment"


def test_threads_take_turns_and_each_gets_its_own_result(kernel, artifact):
    kernels = [kernel, formwright.load(artifact)]
    wrong: list[int] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            a = rng.integers(-8, 9, (9, 11)).astype(np.float32)
            b = rng.integers(-8, 9, (11, 7)).astype(np.float32)
            if not np.array_equal(silent(kernels[seed % 2], a, b), a @ b):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


POOL = r"""
static pthread_t worker; static int alive; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER; static int asked, done;
static void *serve(void *x) {
  pthread_mutex_lock(&m);
  for (;;) { while (!asked) pthread_cond_wait(&go, &m); asked = 0; done = 1;
             pthread_cond_broadcast(&go); }
}
"""
POOLED = r"""
  pthread_mutex_lock(&m);
  if (!alive) { alive = 1; pthread_create(&worker, 0, serve, 0); }
  asked = 1; done = 0; pthread_cond_broadcast(&go);
  while (!done) pthread_cond_wait(&go, &m);
  pthread_mutex_unlock(&m);
"""


def test_a_forked_child_starts_workers_of_its_own(tmp_path):
    library = compile_kernel(tmp_path, "pool", POOLED + RIGHT["naive"], support=POOL)
    kernel = formwright.load(put_artifact(library, tmp_path / "artifact"))
    a, b = draw(3, 4), draw(4, 5)
    assert np.array_equal(kernel(a, b), a @ b)
    child = os.fork()
    if child == 0:
        # A library that still believes in the parent's worker would wait here for good.
        __import__("signal").alarm(10)
        os._exit(0 if np.array_equal(kernel(a, b), a @ b) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_prepared_operand_is_packed_once_for_each_number_of_rows(tmp_path, kernel):
    text = AHEAD.replace("AFTER", "*(float *)t[2] += 1000;")  # tells which call it was
    library = compile_kernel(tmp_path, "ahead", RIGHT["naive"], text)
    kernel_ahead = formwright.load(put_artifact(library, tmp_path / "artifact", ("B",)))
    b = draw(5, 7)[:, :6]
    weights = kernel_ahead.prepare(b)
    wanted = b.copy()
    b[...] = 0
    for rows in (3, 4, 3, 0):
        a = draw(rows, 5)
        got = silent(kernel_ahead, a, weights)
        if rows:
            assert got[0, 0] == (a @ wanted)[0, 0] + 1000
            assert np.array_equal(got.ravel()[1:], (a @ wanted).ravel()[1:])
    with pytest.raises(ValueError, match="prepares no input ahead"):
        kernel.prepare(b)


def test_operands_that_are_prepared_at_once_are_given_together(tmp_path):
    template = load("gated_mlp_panels_ahead")[1]
    design = {"Mr": 2, "Nr": 8, "Ns": 8, "Kc": 128, "Jb": 1, "Tb": 4, "Pf": 0}
    library = build(emit_c(template, design, target_named("plain")), tmp_path).library
    ahead = ("Wg", "Wu", "Wd")
    kernel = formwright.load(put_artifact(library, tmp_path / "artifact", ahead, "gated_mlp"))
    x, gate, up, down = draw(3, 5) / 8, draw(7, 5) / 8, draw(7, 5) / 8, draw(5, 7) / 8
    wanted = silent(kernel, x, gate, up, down)
    weights = kernel.prepare(gate, up, down)
    for array in (gate, up, down):
        array[...] = 0
    for rows in (3, 2, 3):
        assert np.array_equal(silent(kernel, x[:rows], *weights), wanted[:rows])
    others = kernel.prepare(gate, up, down)
    for mixed in ((weights[0], up, down), (*weights[:2], others[2])):
        with pytest.raises(ValueError, match="Wg, Wu, Wd are prepared at once and given together"):
            kernel(x, *mixed)
    with pytest.raises(ValueError, match="Wu was prepared, and is given as Wg"):
        kernel(x, weights[1], weights[0], weights[2])
    with pytest.raises(ValueError, match="prepares Wg, Wu, Wd at once: 1 were given"):
        kernel.prepare(gate)


def test_importing_the_package_does_not_import_numpy():
    program = "import sys, formwright; sys.exit('numpy' in sys.modules)"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", program]) == 0


def test_tensors_of_torch_share_their_memory_and_come_back_as_tensors(kernel):
    torch = pytest.importorskip("torch")
    a, b = torch.from_numpy(draw(6, 5)), torch.from_numpy(draw(5, 4))
    got = silent(kernel, a, b)
    assert isinstance(got, torch.Tensor)
    assert torch.equal(got, a @ b)
    out = torch.zeros(6, 9)
    assert silent(kernel, a, b, out=out[:, :4]).data_ptr() == out.data_ptr()
    assert torch.equal(out[:, :4], a @ b)
    with pytest.warns(formwright.FallbackWarning, match="holds bfloat16, not float32"):
        kernel(a.to(torch.bfloat16), b)
    with pytest.raises(ValueError, match="list is not an array"):
        kernel([[1.0]], b)
