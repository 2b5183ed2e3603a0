"""Bounds on one template file: no text can hang or exhaust the process (rule L3)."""

TEXT_BYTES = 256 * 1024
"""The largest file."""

TOKENS = 65_536
"""Words, numbers and signs in one file."""

NAME_LENGTH = 64
"""Characters in a name."""

STRING_LENGTH = 2_000
"""Characters in a quoted text."""

NESTING = 64
"""Brackets, ``if``, ``sum``, ``not`` and signs inside one another; also blocks."""

HEIGHT = 100
"""Operators on top of one another in one expression, chains included."""

INLINED_HEIGHT = 160
"""As :data:`HEIGHT`, with definitions put in their places."""

INLINED_NODES = 20_000
"""Nodes of one expression with definitions put in their places."""

TOTAL_NODES = 200_000
"""Nodes of all expressions of a template with definitions put in their places."""

TERMS = 20_000
"""Terms of an expression with products multiplied out and sums written out, where the menus
and numbers bound their ranges."""

DEGREE = 64
"""Factors of one such term."""

STAGES = 32
"""Stages of one workload."""

STATEMENTS = 2_048
"""Statements of the program."""

NUMBER_DIGITS = 40
"""Significant digits of a number."""

NUMBER_EXPONENT = 60
"""The largest power of ten, up or down, of a number's last significant digit."""

MENU = 4_096
"""Values in one menu."""

DECISIONS = 64
"""Decisions in one template."""

STRUCTURES = 32
"""Lines of the section ``structures``."""

STRUCTURE_PARTS = 16
"""Names and expressions of one structure."""

PRODUCT = 10**12
"""Points that all menus span together."""

FAULTS = 50
"""Messages about one file; reading stops there."""

KNOWN_NAMES = 100
"""Names that are searched for the nearest one when a name is unknown."""

SEARCHES = 20
"""Searches for a nearest name in one file; messages beyond have no such hint."""
