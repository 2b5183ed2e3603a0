"""Energy of one call as a model: operations and bytes at the joules that a chip file gives."""

from formwright.roofline.levels import Figures, Roofs
from formwright.roofline.point import Intensity

NEEDED = ("flop_energy", "dram_byte_energy")


def lacking(figures: Figures) -> tuple[str, ...]:
    """The fields without which a chip says nothing of energy."""
    return tuple(field for field in NEEDED if f"chip.{field}" not in figures)


def uncounted(figures: Figures, roofs: Roofs) -> tuple[str, ...]:
    """Levels whose bytes cost nothing in the model, since the chip gives no figure for them."""
    names = [level.name for level in roofs.levels]
    return tuple(n for n in names if f"chip.{n}_byte_energy" not in figures)


def energy_of(intensity: Intensity, roofs: Roofs, figures: Figures) -> float | None:
    """Joules of one call (``modelled``), or ``None`` where the chip lacks what is ``NEEDED``.

    Standing power, instructions that compute nothing and clocks that change are left out.
    """
    if lacking(figures):
        return None
    joules = intensity.flops * float(figures["chip.flop_energy"])
    for level in roofs.levels:
        each = figures.get(f"chip.{level.name}_byte_energy", 0)
        joules += intensity.bytes(level.name) * float(each)
    return joules
