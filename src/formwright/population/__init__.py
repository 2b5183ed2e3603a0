"""Templates that were proved once and are not found again: a store that runs share.

``store`` opens it, ``tables`` has its rows, ``engine`` its transactions. What a template is like is
computed from it (``signature``), what may join is decided in ``admission``, what is drawn for a
contract in ``retrieval``. ``docs/population.md`` has the rules.
"""

from formwright.population.chips import ChipKey, chip_key, key_of_values
from formwright.population.entries import (
    Clock,
    Design,
    Entry,
    Fact,
    Held,
    KeptFact,
    Met,
    Origin,
    Step,
    Work,
    work_of,
)
from formwright.population.retrieval import Alike, Covered
from formwright.population.signature import Signature, signature_of
from formwright.population.store import Population, open_population

__all__ = [
    "Alike",
    "ChipKey",
    "Clock",
    "Covered",
    "Design",
    "Entry",
    "Fact",
    "Held",
    "KeptFact",
    "Met",
    "Origin",
    "Population",
    "Signature",
    "Step",
    "Work",
    "chip_key",
    "key_of_values",
    "open_population",
    "signature_of",
    "work_of",
]
