"""Where this user's kept results live: proofs and the detected chip."""

import os
from pathlib import Path


def cache_directory() -> Path:
    """``$XDG_CACHE_HOME/formwright``, else ``~/.cache/formwright``."""
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and os.path.isabs(base) else Path.home() / ".cache"
    return root / "formwright"
