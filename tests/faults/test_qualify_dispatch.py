"""Several kernels behind one callable, and the chain that catches what none of them covers."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from qualify_kernels import RIGHT, compile_kernel
from test_qualify_load import draw

import formwright
from formwright.contract.contract import contract_data, contract_digest
from formwright.contract.operators import operator
from formwright.qualify.artifact import ArtifactError, write_artifact
from formwright.qualify.dispatch import load_dispatch, write_dispatch

SHAPES = {"small": (4, 4, 4), "wide": (4, 400, 4)}


def put(folder: Path, name: str, body: str, shape: tuple[int, int, int], **ranges) -> None:
    """An artifact whose first cell tells which kernel computed it."""
    contract = operator("gemm").contract(extents=ranges)
    library = compile_kernel(folder.parent, name, RIGHT["naive"] + body)
    files = {
        "kernel.so": library.read_bytes(),
        "kernel.h": b"",
        "assignment.json": b"{}",
        "contract.json": json.dumps(contract_data(contract)).encode(),
    }
    record = {
        "contract": {"digest": contract_digest(contract)},
        "threads": 1,
        "workload": {"name": name, "extents": dict(zip("MNK", shape, strict=True))},
        "timing": {"programs": {"kernel": {"seconds": {"median": 1e-5}}}},
    }
    write_artifact(folder / name, files, record)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dispatch") / "artifacts"
    place.mkdir()
    put(place, "small", "C(0, 0) += 1000;", SHAPES["small"], N=(1, 100))
    put(place, "wide", "C(0, 0) += 2000;", SHAPES["wide"], K=(0, 50))
    write_dispatch(place, ["small", "wide"])
    return place


def said(result: np.ndarray, a: np.ndarray, b: np.ndarray) -> int:
    wanted = a @ b
    assert np.array_equal(result.ravel()[1:], wanted.ravel()[1:])
    return int(result[0, 0] - wanted[0, 0])


@pytest.mark.parametrize(
    ("m", "n", "k", "by"),
    [(4, 5, 4, 1000), (3, 300, 4, 2000), (4, 90, 60, 1000), (60, 101, 2, 2000), (4, 399, 4, 2000)],
)
def test_the_nearest_kernel_whose_domain_holds_a_call_computes_it(folder, m, n, k, by):
    table = load_dispatch(folder)
    a, b = draw(m, k), draw(k, n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert said(table(a, b), a, b) == by


def test_what_no_kernel_covers_goes_to_numpy_aloud(folder):
    table = load_dispatch(folder)
    a, b = draw(2, 60), draw(60, 200)
    with pytest.warns(formwright.FallbackWarning, match=r"NumPy computes .* is outside"):
        assert said(table(a, b), a, b) == 0
    with pytest.raises(ValueError, match="K is 3 in A and 4 in B"):
        table(draw(2, 3), draw(4, 2))


def test_a_kernel_falls_back_to_another_before_numpy(folder):
    wide = formwright.load(folder / "wide")
    kernel = formwright.load(folder / "small", fallback=[wide])
    a, b = draw(2, 3), draw(3, 200)
    with pytest.warns(formwright.FallbackWarning, match=r"small: wide computes this call"):
        assert said(kernel(a, b), a, b) == 2000
    a, b = draw(2, 60), draw(60, 200)
    assert said(kernel(a, b), a, b) == 0


def test_a_table_that_is_not_the_one_of_its_kernels_does_not_load(folder, tmp_path):
    path = folder / "dispatch.json"
    text = path.read_text()
    table = json.loads(text)
    try:
        for change in (
            {"schema": 9},
            {"kernels": []},
            {"kernels": [table["kernels"][0] | {"library": "0" * 64}]},
            {"kernels": [table["kernels"][0] | {"artifact": "../small"}]},
            {"kernels": [{}]},
            {"kernels": [table["kernels"][0] | {"extents": {"M": -5}}]},
            {"kernels": [table["kernels"][0] | {"extents": {"M": "5"}}]},
        ):
            path.write_text(json.dumps(table | change))
            with pytest.raises(ArtifactError):
                load_dispatch(folder)
    finally:
        path.write_text(text)
    with pytest.raises(ValueError, match="no real numbers"):
        load_dispatch(folder)(draw(2, 3).astype(np.complex64), draw(3, 2))
    with pytest.raises(ArtifactError, match=r"dispatch\.json"):
        load_dispatch(tmp_path)
