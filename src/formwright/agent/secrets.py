"""Keys of the environment, struck out of whatever is written down."""

import os
import re
from typing import Final

_NAMES: Final = re.compile(r"(?:API_?KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
SHORTEST: Final = 8
"""Characters of a secret; shorter values would strike out words."""


def struck(text: str) -> str:
    """``text`` with the value of every variable named like a secret replaced by its name."""
    for name, value in os.environ.items():
        if _NAMES.search(name) and len(value) >= SHORTEST:
            text = text.replace(value, f"[{name}]")
    return text
