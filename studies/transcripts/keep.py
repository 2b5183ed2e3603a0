"""Keeps of a run what repeating it needs: problem, transcript, and the journal without bulk.

    python studies/transcripts/keep.py RUN studies/transcripts/NAME

RUN is the folder of ``formwright run … --agent manual --out RUN``. Of the journal the measurements
(what ``--device`` gives again) and all decisions stay whole. Proofs are left out of the verdicts:
a replay proves again. Of builds their compiler and seconds stay. A measurement that does not say
how large the code of its programs was gets it from the libraries in RUN, which were measured.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from formwright.codegen.size import code_bytes

LEFT_OUT = {"judge": ("proof",), "build": ("command",)}


def kept(entry: dict[str, Any], run: Path) -> dict[str, Any]:
    """The entry without what :data:`LEFT_OUT` says of its kind, with sizes of code."""
    kind = entry["key"].split("/")[0]
    bulk = LEFT_OUT.get(kind, ())
    if kind in ("measure", "final"):
        for key, program in entry["data"]["programs"].items():
            program.setdefault("code_bytes", code_bytes(run / "build" / key / "kernel.so"))
    data = {k: v for k, v in entry["data"].items() if k not in bulk} if bulk else entry["data"]
    return {**entry, "data": data}


def main(run: Path, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(run / "transcript.jsonl", to / "transcript.jsonl")
    lines = (run / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    text = "".join(json.dumps(kept(json.loads(line), run), sort_keys=True) + "\n" for line in lines)
    (to / "journal.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
