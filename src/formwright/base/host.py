"""What this machine offers to everybody here: folders, a C compiler."""

import os
import shutil
from pathlib import Path


def cache_folder() -> Path:
    """Where things that can be made again are kept for this user."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "formwright"


def data_folder() -> Path:
    """Where things that cannot be made again are kept for this user."""
    root = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(root) / "formwright"


def find_compiler() -> str | None:
    """The C compiler: gcc, clang or cc, whichever is found first."""
    for name in ("gcc", "clang", "cc"):
        found = shutil.which(name)
        if found:
            return found
    return None
