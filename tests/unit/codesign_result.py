"""A study's result made up for tests of its tables: numbers that no study gave."""

from formwright.flow.codesign_results import (
    CeilingResult,
    ChipRow,
    DesignRow,
    MethodRow,
    PurchaseRow,
    ScenarioRow,
    StudyResult,
)


def ceiling(budget: float | None, objective: float | None = 0.25) -> CeilingResult:
    found = objective is not None
    chip = {"sms": 8, "shared_bytes": 65536, "clock": 1800000000}
    design = DesignRow(
        "qkv-projection", "tiled_gpu_gemm", {"Tm": 64, "Tn": 128}, 2, 1e-5, None, 9e-6
    )
    return CeilingResult(
        budget=budget,
        chip=chip if found else None,
        area=9.25 if found else None,
        objective=objective,
        found_by="sets" if found else "",
        bound=0.2475 if found else None,
        gap=0.01 if found else None,
        scenarios=(
            ScenarioRow("prefill", 2e-5, None, 0.25, 0.2, 0.25, (design,), 7),
            ScenarioRow("decode", 2e-5, None, 0.2, None, None, (design,), 7),
        )
        if found
        else (),
        purchases=(
            PurchaseRow(
                round=1,
                way="set",
                total_area=9.25,
                fields={"shared_bytes": (32768, 65536), "sms": (4, 8)},
                area=1.5,
                predicted=0.75,
                price=0.5,
                evaluated=0.74,
                verdict="agrees",
                mechanism=tuple(f"work {n}: Tm 32 -> 64, 1.9 times as fast" for n in range(6)),
                reclaimed={"shared_bytes": (65536, 49152)},
                objective=0.25,
                entry=5,
            ),
        )
        if found
        else (),
        purchases_of="sets",
        certificate={"done": "no purchase helps", "all_removed": "1/5", "entry": 6},
        methods=(
            MethodRow(
                method="random",
                chip=chip if found else None,
                area=9.9 if found else None,
                objective=objective,
                bound=None,
                objectives=(objective, 0.3),
                solves=(200, 200),
                evaluations=(0, 0),
                relaxations=(0, 12),
                solves_to_best=(17, 200),
                reached_by=(found, False),
                seconds=(0.5, 0.75),
                note="17 chips were found, not 200",
                entries=(8, 9),
            ),
        ),
        entries={"bound": 11},
    )


def result(*ceilings: CeilingResult) -> StudyResult:
    chip = {"sms": 8, "shared_bytes": 65536, "clock": 1800000000}
    return StudyResult(
        study="made-up",
        description="numbers that no study gave",
        library="tiled-gpu",
        objective="worst",
        choices=("sms", "shared_bytes"),
        chips_in_library=4,
        units={"sms": "count", "shared_bytes": "bytes", "clock": "frequency"},
        start={"sms": 4, "shared_bytes": 32768, "clock": 1800000000},
        proofs={"tiled_gpu_gemm": "proved", "other": "modelled"},
        evaluator={"name": "tiled-gpu", "evidence": "simulated", "noise": 0.1},
        agreement={"rank": 0.97, "samples": 30, "entry": 3},
        repairs=(),
        ceilings=ceilings,
        front=(ChipRow("", chip, 9.25, 0.25, False, "", 12),),
        front_tolerance=0.01,
        front_complete_to=None,
        chips=(ChipRow("paper", chip, 12.0, 0.26, True, "a paper", 13),),
        generated=(),
        area_model=({"name": "sms", "source": "a table", "error": "the fit is off by 5 %"},),
        unmodelled={"clock": "no source gives an area"},
        journal="out/journal.jsonl",
        seconds=12.5,
    )
