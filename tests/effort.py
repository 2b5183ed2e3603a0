"""How much is drawn: a third by default, all of it with FORMWRIGHT_SLOW."""

import os


def examples(count: int) -> int:
    """Of ``count`` examples those that a default run draws; each run draws others."""
    return count if "FORMWRIGHT_SLOW" in os.environ else max(5, count // 3)
