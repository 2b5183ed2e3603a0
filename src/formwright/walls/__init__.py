"""The chip and its software chosen together: pricing, relaxation, bounds, baselines.

The outer search sees software only through :class:`formwright.walls.core.Inner`.
"""
