"""The chain that ships, as files that a test may edit."""

from collections.abc import Mapping
from pathlib import Path

from formwright.lang.chain_sources import load_chain_source

STEPS = {Path(s.name).stem[0]: Path(s.name).name for s in load_chain_source("gemm").steps}
"""File names by their numbers."""


def edited(folder: Path, edits: Mapping[str, Mapping[str, str]], last: int = 5) -> Path:
    """The first ``last`` steps of the chain, written to ``folder`` with texts replaced.

    ``edits`` has replacements by the number of the file, or ``chain`` for the chain's own. Each
    text stands in the file exactly once or, with several lines to change, at least once.
    """
    source = load_chain_source("gemm")
    own = source.source.text
    (folder / "gemm").mkdir(parents=True, exist_ok=True)
    for number, step in enumerate(source.steps, start=1):
        file = Path(step.name).name
        if number > last:
            own = own.replace(f'  "gemm/{file}",\n', "")
        text = replaced(step.text, edits.get(str(number), {}))
        (folder / "gemm" / file).write_text(text, encoding="utf-8")
    path = folder / "gemm.toml"
    path.write_text(replaced(own, edits.get("chain", {})), encoding="utf-8")
    return path


def replaced(text: str, edits: Mapping[str, str]) -> str:
    for old, new in edits.items():
        assert old in text, f"the file does not have: {old}"
        text = text.replace(old, new)
    return text
