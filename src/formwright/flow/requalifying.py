"""``requalify`` for the command line."""

from pathlib import Path

from formwright.qualify.requalify import Requalification, requalify


def requalify_folder(folder: Path) -> Requalification:
    """Run the checks again on the very binary, and compare this machine with the record."""
    return requalify(folder)
