"""An artifact folder without a kernel that runs: a record as one is, for who only reads it."""

import json
from pathlib import Path
from typing import Any

from formwright.contract.contract import contract_data, contract_digest
from formwright.contract.operators import operator
from formwright.qualify.artifact import write_artifact


def made_record() -> dict[str, Any]:
    """A record of schema 2, as ``formwright run`` writes it, without its hashes."""
    contract = operator("gemv").contract()
    check = {"says": "every output within the bound", "evidence": "tested", "detail": ""}
    return {
        "formwright": "0.1.0",
        "created": "2026-11-30T10:00:00+00:00",
        "workload": {"name": "up", "extents": {"N": 4864, "K": 896}},
        "threads": 2,
        "template": {"name": "rows", "digest": "0" * 64, "sha256": "0" * 64},
        "assignment": {"Nr": 8},
        "generation": {
            "by": "formwright 0.1.0",
            "inputs": {"problem": "1" * 64, "seed": 3, "templates": {"rows": "0" * 64}},
            "budget": {"candidates": 4, "rounds": 2, "seconds": 120.0},
        },
        "contract": {
            "digest": contract_digest(contract),
            "operator": "gemv",
            "formula": list(contract.formula),
        },
        "domain": {
            "extents": {"N": [1, 2147483647], "K": [1, 4194304]},
            "dtypes": {"W": "f32", "x": "f32", "y": "f32"},
            "strides": {"padded": "allowed", "sliced": "refused"},
            "alignment": "one element",
            "aliasing": "output apart from inputs",
            "ahead": [],
        },
        "build": {
            "command": ["gcc", "-O2", "-mavx2", "-o", "kernel.so", "kernel.c"],
            "compiler": "gcc 12",
            "target": ["-mavx2"],
            "runtime": "glibc 2.36",
        },
        "chip": {"name": "local"},
        "facts": {
            "cpu": "a CPU",
            "isa": "0" * 16,
            "microcode": "0x1",
            "cores": 2,
            "system": "Linux x86_64",
            "libc": "glibc 2.36",
            "python": "3.11",
            "compiler": "gcc 12",
            "tools": {"formwright": "0.1.0", "numpy": "2"},
        },
        "sandbox": "bubblewrap",
        "predicted_seconds": 1e-4,
        "boundaries": {"N": [8]},
        "evidence": {
            "template": {
                "verdict": "proved",
                "semantics": "real arithmetic",
                "solver": "z3 5",
                "digest": "0" * 64,
                "obligations": [
                    {
                        "name": "coverage",
                        "group": "K2",
                        "condition": "coverage",
                        "verdict": "proved",
                        "evidence": "proved",
                    }
                ],
            },
            "binary": {
                "library": "0" * 64,
                "verdict": "held",
                "sandbox": "bubblewrap",
                "seconds": 2.5,
                "checks": [
                    {"name": "bound", "verdict": "held", "runs": 3, **check},
                    {"name": "repeatable", "verdict": "unresolved", "runs": 0, **check}
                    | {"detail": "one core alone"},
                ],
                "runs": [
                    {
                        "extents": {"N": n, "K": 7},
                        "strides": [7, 1, 1],
                        "placement": "start",
                        "threads": 1,
                        "kinds": ["normal", "peaked"],
                        "seed": 5,
                    }
                    for n in (1, 9, 4864)
                ],
            },
            "other_build": [
                {
                    "what": "integers mod 2^64",
                    "difference": "words of 64 bits in the place of f32",
                    "says": "every output is exact",
                    "verdict": "held",
                    "evidence": "tested",
                    "detail": "",
                    "runs": 4,
                    "shapes": [{"N": 3, "K": 5}],
                    "seed": 6,
                    "threads": {"asked": 2, "seen": 2},
                    "command": ["gcc"],
                    "compiler": "gcc 12",
                    "sandbox": "bubblewrap",
                    "modulus": "2^64",
                    "unseen": "rounding",
                }
            ],
            "trusted": [{"name": "emitter", "what": "formwright.codegen 0.1.0"}],
        },
        "timing": {
            "library": "0" * 64,
            "seed": 9,
            "rounds": 3,
            "caches": "warm",
            "queue_share": 0.01,
            "programs": {
                "kernel": _program([1.0e-4, 1.1e-4, 0.9e-4]),
                "numpy": _program([2.0e-4, 2.1e-4, 2.2e-4]),
                "torch": {"failure": "refused: torch is not installed"},
            },
            "ratios": {"numpy": {"median": 2.1, "low": 2.0, "high": 2.2}},
            "verdicts": {"numpy": "faster"},
            "tails": {},
        },
    }


def _program(seconds: list[float]) -> dict[str, Any]:
    return {
        "samples": [{"round": n, "seconds": s, "calls": 9} for n, s in enumerate(seconds)],
        "seconds": {"median": sorted(seconds)[1], "low": min(seconds), "high": max(seconds)},
        "tail": {"p50": seconds[0], "p95": max(seconds), "p99": max(seconds)},
        "memory_bytes": 4096,
        "prepare_seconds": None,
    }


def made_artifact(folder: Path, **changed: Any) -> Path:
    """The folder of :func:`made_record`, with other values for some of its keys."""
    contract = operator("gemv").contract()
    files = {
        "kernel.so": b"no library",
        "kernel.c": b"int unused;\n",
        "template.fw": b"template rows : operator -> mapping\n",
        "kernel.h": b"/* gemv */\n",
        "assignment.json": b'{"Nr": 8}',
        "contract.json": json.dumps(contract_data(contract)).encode(),
    }
    return write_artifact(folder, files, made_record() | changed)
