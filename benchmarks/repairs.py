"""How often a template that went wrong is brought back to ``proved``.

    python benchmarks/repairs.py --seed 1 --count 2 --out repairs.json

Mutants are shipped templates with one slip in their text (``template_mutants.py``), drawn by kind;
one that does not parse, or is proved as it stands, is none. The repair gets the text and what
the verifier said of it, nothing of the original. A repair counts if every obligation of its text is
proved and the scope is what it was. Proofs go to a store of their own, empty at the start. An
interrupted run goes on where it was: rows of ``--out`` are not done again.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

from template_mutants import KINDS_HELD_OUT, KINDS_SHOWN, Mutant, drawn

from formwright.agent.repair import Effort, findings_of
from formwright.base.diagnostics import InputError
from formwright.base.files import write_json
from formwright.base.source import Source
from formwright.flow.mending import Judges, mend_text
from formwright.ir.template import Template
from formwright.lang import load_source, parse, shipped

KINDS = (*KINDS_SHOWN, *KINDS_HELD_OUT)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--templates", default="", help="names, by commas; all without")
    arguments.add_argument("--kinds", default=",".join(KINDS), help="by commas")
    arguments.add_argument("--seed", type=int, default=1, help="which mutants are drawn")
    arguments.add_argument("--count", type=int, default=1, help="of a template and kind")
    arguments.add_argument("--seconds", type=float, default=120.0, help="CPU time for one repair")
    arguments.add_argument("--minutes", type=float, default=600.0, help="for all of them")
    arguments.add_argument("--out", type=Path, default=Path("repairs.json"))
    given = arguments.parse_args()
    report: dict[str, Any] = {"rows": {}}
    if given.out.exists():
        report = json.loads(given.out.read_text())
    names = given.templates.split(",") if given.templates else _with_programs()
    deadline = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory(prefix="formwright-repairs-") as place:
        pairs = [(name, kind) for name in names for kind in given.kinds.split(",")]
        Random(given.seed).shuffle(pairs)  # a run that is cut short has a fair part of all
        for name, kind in pairs:
            if time.monotonic() > deadline:
                break
            for key, row in _rows(name, kind, given, Path(place), report["rows"]):
                report["rows"][key] = row
                report["summary"] = summary(report["rows"])
                write_json(given.out, report)
                said = row["edits"] if row["repaired"] else row["conditions"]
                print(f"{key}: {'repaired' if row['repaired'] else 'NOT'} {said}", flush=True)
    print(json.dumps(report["summary"], indent=1))
    return 0


def _with_programs() -> list[str]:
    return [name for name in shipped() if parse(load_source(name)).program]


def _rows(
    name: str, kind: str, given: argparse.Namespace, store: Path, known: dict[str, Any]
) -> Any:
    """Rows of ``--count`` wrong mutants; those of before are passed over, and counted."""
    text = load_source(name).text
    found = 0
    for mutant in drawn(name, text, kind, given.seed, 200):
        if found == given.count:
            return
        key = f"{name} {kind}: {mutant.was} -> {mutant.now}"
        if key in known:
            found += "repaired" in known[key]
            continue
        template = _parsed(mutant)
        if template is None:
            continue
        row = _row(mutant, template, store, given.seconds)
        if row is not None:
            found += 1
            yield key, {"seed": given.seed, "kind": kind, "template": name, **row}


def _parsed(mutant: Mutant) -> Template | None:
    try:
        return parse(Source(f"{mutant.template}.fw", mutant.text))
    except InputError:
        return None


def _row(mutant: Mutant, template: Template, store: Path, seconds: float) -> dict[str, Any] | None:
    """``None`` for a mutant that is proved as it stands."""
    wrong = Judges(store).refute(template)
    if wrong.verdict == "proved":
        return None
    started = time.monotonic()
    mended = mend_text(mutant.text, findings_of(wrong), effort=Effort(seconds=seconds), store=store)
    row: dict[str, Any] = {
        "verdict": wrong.verdict,
        "conditions": sorted({o.condition for o in wrong.obligations if o.verdict != "proved"}),
        "repaired": mended is not None,
        "seconds": round(time.monotonic() - started, 1),
    }
    if mended is not None:
        row |= {
            "edits": list(mended.edits),
            "screened": mended.screened,
            "proofs": mended.proofs,
            "original": mended.text.split("\nbackward")[0]
            == load_source(mutant.template).text.split("\nbackward")[0],
        }
    return row


def summary(rows: dict[str, Any]) -> dict[str, Any]:
    """Rates by kind, and of all."""
    kinds: dict[str, list[bool]] = defaultdict(list)
    for row in rows.values():
        kinds[row["kind"]].append(row["repaired"])
    seconds = sorted(row["seconds"] for row in rows.values())
    everything = [row["repaired"] for row in rows.values()]
    return {
        "mutants": len(everything),
        "repaired": sum(everything),
        "rate": round(sum(everything) / max(1, len(everything)), 3),
        "median_seconds": seconds[len(seconds) // 2] if seconds else 0,
        "kinds": {k: f"{sum(v)} of {len(v)}" for k, v in kinds.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
