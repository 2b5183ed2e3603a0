"""The roofline as text, SVG and JSON, from the command and from kernels with given times."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from formwright.cli.main import run
from formwright.contract.operators import operator
from formwright.flow import rooflining
from formwright.flow.rooflining import Kernel, Roofline, roofline_of_folder
from formwright.lang import load
from formwright.qualify.artifact import Artifact
from formwright.report.roofline_files import write_roofline
from formwright.report.roofline_svg import roofline_svg
from formwright.roofline import Intensity, Moved, Roofs, point_of, roofs_of

CHIP = """[chip]
name = "test"

[fields]
cores = { value = 2, source = "test" }
accumulators = { value = 128, source = "test" }
vector_lanes = { value = 8, source = "test" }
vector_registers = { value = 16, source = "test" }
l1_bytes = { value = "32 KiB", source = "test" }
l2_bytes = { value = "512 KiB", source = "test" }
l3_bytes = { value = "32 MiB", source = "test" }
tlb_entries = { value = 2048, source = "test" }
clock = { value = "3 GHz", source = "test" }
core_flops = { value = "90 GFLOP/s", source = "test" }
dram_bandwidth = { value = "20 GB/s", source = "test" }
core_dram_bandwidth = { value = "12 GB/s", source = "test" }
l2_bandwidth = { value = "80 GB/s", source = "test" }
l3_bandwidth = { value = "48 GB/s", source = "test" }
"""
SHAPE = ["--set", "M=64,N=128,K=96", "--threads", "1"]


@pytest.fixture
def chip(tmp_path: Path) -> str:
    file = tmp_path / "test.toml"
    file.write_text(CHIP, encoding="utf-8")
    return str(file)


def test_a_template_by_name(chip: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "report"
    command = ["roofline", "direct_gemm", "--chip", chip, *SHAPE, "--json", "--svg", str(folder)]
    assert run(command) == 0
    found = json.loads(capsys.readouterr().out)
    kernel = found["kernels"]["direct_gemm"]
    assert found["evidence"] == "modelled"
    assert kernel["timed"] == "modelled"
    assert kernel["levels"]["dram"]["bytes"] == 4 * (64 * 96 + 96 * 128 + 64 * 128)
    assert any("l1_bandwidth" in why for why in found["missing"])
    text = (folder / "roofline.txt").read_text(encoding="utf-8")
    assert "direct_gemm (M=64 N=128 K=96)" in text
    assert "modelled" in text
    ElementTree.parse(folder / "roofline.svg")


def test_both_peaks_are_shown(chip: str, tmp_path: Path) -> None:
    file, folder = Path(chip), tmp_path / "report"
    units = 'core_matrix_flops = { value = "900 GFLOP/s", source = "test" }\n'
    file.write_text(file.read_text() + units)
    shape = ["--set", "M=64,N=128,K=96", "--threads", "1"]
    given = ["--chip", chip, *shape, "--svg", str(folder)]
    assert run(["roofline", "gemm_matrix_ahead", *given]) == 0
    text = (folder / "roofline.txt").read_text()
    assert "of matrix units with bf16 900 Gflop/s" in text
    assert "of the peak of matrix units)" in text
    picture = (folder / "roofline.svg").read_text()
    assert picture.count('class="roof peak"') == 2
    assert "matrix units 900 Gflop/s" in picture


@pytest.mark.parametrize("rate", ["", "0 flop/s", "900 GFLOP/s"])
@pytest.mark.parametrize("dtypes", ["W=bf16,x=bf16", "W=f32,x=f32"])
def test_which_peak_a_kernel_stands_under(
    rate: str, dtypes: str, chip: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that multiplies in f32 what it has read in bf16: its operator has the faster way."""
    file, folder = Path(chip), tmp_path / "report"
    units = f'core_matrix_flops = {{ value = "{rate}", source = "test" }}\n' if rate else ""
    file.write_text(file.read_text() + units)
    given = ["--chip", chip, "--set", "N=256,K=512", "--threads", "1", "--dtypes", dtypes]
    assert run(["roofline", "gemv_rows", *given, "--json", "--svg", str(folder)]) == 0
    found = json.loads(capsys.readouterr().out)
    kernel = found["kernels"]["gemv_rows"]
    there = rate.startswith("900")
    matrix = there and "bf16" in dtypes
    assert found["matrix_peak"] == (900e9 if there else None)
    assert kernel["matrix_units"] == matrix
    assert kernel["peak_share"] == pytest.approx(kernel["rate"] / (900e9 if matrix else 90e9))
    assert ("peak of matrix units" in (folder / "roofline.txt").read_text()) == matrix
    drawn = (folder / "roofline.svg").read_text()
    assert drawn.count('class="roof peak"') == 1 + there


def test_what_it_refuses(chip: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        ([str(tmp_path)], "holds no artifact"),
        (["packed_gemm", "--chip", chip, *SHAPE, "--assign", "Mr=4"], "leaves out Nr"),
        (["packed_gemm", "--chip", chip, *SHAPE, "--dtypes", "A"], "is not NAME=TYPE"),
        (["packed_gemm", "--chip", chip, *SHAPE, "--dtypes", "A=i8"], "add it to the line dtypes"),
        (["packed_gemm", "--chip", chip], "no value for the extent M"),
    ):
        assert run(["roofline", *arguments]) == 2
        assert message in capsys.readouterr().err


FIGURES = {
    "chip.cores": 2,
    "chip.accumulators": 128,
    "chip.vector_lanes": 8,
    "chip.vector_registers": 16,
    "chip.clock": 3 * 10**9,
    "chip.l1_bytes": 32768,
    "chip.l2_bytes": 524288,
    "chip.l3_bytes": 1 << 25,
    "chip.core_flops": 90 * 10**9,
    "chip.l1_bandwidth": 150 * 10**9,
    "chip.l2_bandwidth": 80 * 10**9,
    "chip.l3_bandwidth": 48 * 10**9,
    "chip.dram_bandwidth": 12 * 10**9,
    "chip.core_dram_bandwidth": 12 * 10**9,
}


def _roofs() -> Roofs:
    return roofs_of(FIGURES, 1)


def _many(count: int) -> Roofline:
    roofs = _roofs()
    kernels = []
    for n in range(count):
        sizes = {"l1": 10**8, "l2": 5 * 10**7, "l3": 10**7, "dram": 10**6 * (1 + n % 3)}
        moved = {name: (Moved("A", size, 0),) for name, size in sizes.items()}
        intensity = Intensity({"*": 10**8, "+": 10**8}, moved)
        point = point_of(f"kernel & {n}", intensity, roofs, 0.004 * (1 + 0.01 * n))
        kernels.append(Kernel({"M": 8, "N": 4864}, intensity, point))
    return Roofline("test", roofs, tuple(kernels), {})


@pytest.mark.parametrize("count", [1, 7, 40])
def test_labels_do_not_overlap(count: int) -> None:
    drawn = roofline_svg(_many(count))
    assert drawn is not None
    ElementTree.fromstring(drawn)
    assert len(drawn.encode()) < 4000 + 1100 * count
    width, height = map(int, re.search(r'viewBox="0 0 (\d+) (\d+)"', drawn).groups())  # type: ignore[union-attr]
    boxes = []
    for x, y, anchor, text in re.findall(
        r'<text(?: class="\w+")? x="(\d+)" y="(-?\d+)"(?: text-anchor="(\w+)")?[^>]*>([^<]*)<',
        drawn,
    ):
        wide = 7.3 * len(text.replace("&amp;", "&"))
        left = float(x) - {"middle": wide / 2, "end": wide, "": 0.0}[anchor]
        boxes.append((left, float(y) - 10, left + wide, float(y) + 2))
    assert len(boxes) >= 2 * count + 10
    for n, (a, b, c, d) in enumerate(boxes):
        assert 0 <= a <= c <= width + 8
        assert 0 <= b <= d <= height
        for e, f, g, h in boxes[n + 1 :]:
            assert c <= e or g <= a or d <= f or h <= b


def test_no_time_no_picture(tmp_path: Path) -> None:
    roofs = _roofs()
    intensity = Intensity({"*": 1}, {v.name: () for v in roofs.levels})
    kernel = Kernel({}, intensity, point_of("a", intensity, roofs, None))
    written = write_roofline(Roofline("test", roofs, (kernel,), {}), tmp_path)
    assert [p.name for p in written] == ["roofline.txt"]
    assert "no time is known" in written[0].read_text(encoding="utf-8")


def _artifact(folder: Path, template: str, threads: int) -> Artifact:
    chip = {n.removeprefix("chip."): v for n, v in FIGURES.items()}
    record = {
        "workload": {"name": "up", "extents": {"K": 96, "M": 64, "N": 128}},
        "threads": threads,
        "template": {"name": template},
        "chip": {"name": "test", **{f"chip.{n}": str(v) for n, v in chip.items()}},
        "timing": {"programs": {"kernel": {"seconds": {"median": 0.001}}}},
        "facts": {"cpu": "a CPU that this is not"},
    }
    if template != "none":
        text = load(template)[0].text
        (folder / "template.fw").write_text(text, encoding="utf-8")
    picked = {"Mr": 4, "Nr": 16, "Jb": 4}
    return Artifact(folder, b"", operator("gemm").contract(), picked, record)


def test_artifacts_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {}
    for name, template, threads in (
        ("a", "direct_gemm", 1),
        ("foreign", "none", 1),
        ("other", "direct_gemm", 2),
    ):
        folder = tmp_path / "artifacts" / name
        folder.mkdir(parents=True)
        (folder / "record.json").write_text("{}")
        made[folder] = _artifact(folder, template, threads)
    monkeypatch.setattr(rooflining, "read_artifact", made.__getitem__)
    found = roofline_of_folder(tmp_path)
    ours, foreign = found.kernels
    assert ours.point.rate == 2 * 64 * 128 * 96 / 0.001
    assert [use.level for use in ours.point.uses] == ["l1", "l2", "l3", "dram"]
    assert (foreign.point.name, foreign.extents) == ("foreign", {"M": 64, "N": 128, "K": 96})
    assert [use.level for use in foreign.point.uses] == ["dram"]
    assert foreign.point.uses[0].bytes == 4 * (64 * 96 + 96 * 128 + 64 * 128)
    assert "no program text" in foreign.note
    assert "it has other roofs" in found.left_out["up"]


def test_what_is_packed_ahead_is_no_part_of_the_call(
    chip: str, capsys: pytest.CaptureFixture[str]
) -> None:
    picked = "Mr=4,Nr=16,Kc=128,Mc=96,Jb=4,Ib=16"
    command = ["roofline", "packed_gemm_ahead", "--chip", chip, *SHAPE, "--json"]
    command += ["--assign", picked]
    found = []
    for more in ([], ["--ahead"]):
        assert run([*command, *more]) == 0
        found.append(json.loads(capsys.readouterr().out)["kernels"]["packed_gemm_ahead"])
    whole, part = (k["levels"]["dram"]["moved"] for k in found)
    assert "B" in whole
    assert "B" not in part
    assert sum(m["loads"] for m in part.values()) >= 4 * (64 * 96 + 96 * 128)
    assert "packed ahead" in found[1]["note"]
