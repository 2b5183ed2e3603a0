"""The verifier: conditions from the text of a template, discharged by z3.

Importing this package loads the solver; callers on the parse path import it late.
"""

from formwright.smt.prove import prove
from formwright.smt.weakest import safe_conditions

__all__ = ["prove", "safe_conditions"]
