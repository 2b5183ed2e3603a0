"""Evidence from other builds of a candidate's source, kept apart from that of the very binary.

Each entry goes under ``evidence.other_build`` of the record and says what was built, how it
differs from the library, what was run and what came of it. ``docs/record.md`` has the keys.
"""

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from formwright.contract.contract import Contract, outside
from formwright.qualify.program import shown
from formwright.qualify.sanitized import SANITIZERS, Outcome, Sanitizer, run_sanitized
from formwright.qualify.shapes import is_empty, shapes

UNITS: Final = "fw_product_by_units"
"""In emitted C that uses units for bf16, which sanitizers do not see into."""

CALLS: Final = 4
"""Shapes that each sanitizer build is called at."""

_LEAST, _MOST = 1 << 18, 1 << 21
"""Points of the largest of them: enough for threads to be woken, and sanitizers are slow."""


def sanitizer_evidence(
    sources: Mapping[str, str],
    command: Sequence[str],
    contract: Contract,
    seed: int,
    boundaries: Mapping[str, Sequence[int]],
) -> tuple[dict[str, Any], ...]:
    """One entry for each sanitizer. ``command`` built the library from ``sources``.

    Nothing is timed meanwhile, so both builds are made at once.
    """
    tried = tried_shapes(contract, seed, boundaries, _MOST)

    def entry(sanitizer: Sanitizer) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="formwright-sanitizer-") as folder:
            outcome = run_sanitized(
                sanitizer, sources, command, contract, tried, seed, Path(folder)
            )
        units = any(UNITS in text for text in sources.values())
        return _entry(sanitizer, outcome, tried, seed, units)

    with ThreadPoolExecutor(len(SANITIZERS)) as pool:
        return tuple(pool.map(entry, SANITIZERS))


def _entry(
    sanitizer: Sanitizer,
    outcome: Outcome,
    tried: Sequence[Mapping[str, int]],
    seed: int,
    units: bool,
) -> dict[str, Any]:
    return {
        "what": f"sanitizer: {sanitizer.name}",
        "difference": (
            "compiled again as a program, with the library's flags and "
            + " ".join(sanitizer.flags)
            + "; tensors are allocations of their own, and what is computed may round differently"
            + ("; products of bf16 are made by vectors, not by the units for them" if units else "")
        ),
        "says": sanitizer.says,
        "verdict": outcome.verdict,
        "evidence": "tested",
        "detail": outcome.detail,
        "runs": outcome.runs,
        "threads": {"asked": sanitizer.threads, "seen": outcome.threads},
        "shapes": [dict(s) for s in tried[: outcome.runs]],
        "seed": seed,
        "command": [shown(part) for part in outcome.command],
        "compiler": outcome.compiler,
        "sandbox": outcome.sandbox,
    }


def tried_shapes(
    contract: Contract, seed: int, boundaries: Mapping[str, Sequence[int]], most: int
) -> list[dict[str, int]]:
    """The first small shape, the largest of those that validation would draw, and a larger one."""
    drawn = shapes(contract, np.random.default_rng([seed, 7]), "quick", boundaries)
    some = [s for s in drawn if not is_empty(contract, s) and prod(s.values()) <= most]
    if not some:
        return []
    large = sorted(some[1:], key=lambda s: prod(s.values()))[2 - CALLS :]
    grown = _grown(contract, max(some, key=lambda s: prod(s.values())))
    return [some[0], *large, *([] if grown in large else [grown])]


def _grown(contract: Contract, shape: Mapping[str, int]) -> dict[str, int]:
    """``shape`` with its least extents doubled, inside the domain, until threads are woken."""
    found = dict(shape)
    for name in sorted(contract.names, key=lambda n: found[n]) * 8:
        larger = found | {name: 2 * found[name]}
        if prod(found.values()) >= _LEAST:
            break
        if outside(contract, larger) is None:
            found = larger
    return found


def objections(entries: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What stands against a candidate: a build that found a fault of the source."""
    return tuple(f"{e['what']}: {e['detail']}" for e in entries if e["verdict"] == "refuted")
