"""Operations and bytes of a program at each memory level, and the roofs of a chip over them.

``nest`` makes a tree of a template's program; ``spans``, ``cells`` and ``sums`` count what it
touches; ``traffic`` applies the rule that says where reuse is caught; ``levels`` are a chip's
memories and roofs; ``narrow`` says which operators have the roof of matrix units; ``point`` puts a
measured time under them. All of it is ``modelled``: nothing here has looked at a counter of the
machine. The model and its assumptions: ``docs/roofline.md``.
"""

from formwright.roofline.levels import Level, Roofs, roofs_of
from formwright.roofline.narrow import contract_multiplies_bf16, template_multiplies_bf16
from formwright.roofline.nest import nest_of
from formwright.roofline.point import Intensity, LevelUse, Point, Verdict, intensity_of, point_of
from formwright.roofline.spans import UnboundedError
from formwright.roofline.traffic import Moved, moved, operations

__all__ = [
    "Intensity",
    "Level",
    "LevelUse",
    "Moved",
    "Point",
    "Roofs",
    "UnboundedError",
    "Verdict",
    "contract_multiplies_bf16",
    "intensity_of",
    "moved",
    "nest_of",
    "operations",
    "point_of",
    "roofs_of",
    "template_multiplies_bf16",
]
