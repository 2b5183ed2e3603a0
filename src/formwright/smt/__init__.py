"""The verifier: conditions from the text of a template, discharged by z3.

Importing this package loads the solver; callers on the parse path import it late.
"""

from formwright.smt.prove import prove
from formwright.smt.weakest import Bound, safe_bounds, safe_conditions, safe_under

__all__ = ["Bound", "prove", "safe_bounds", "safe_conditions", "safe_under"]
