"""A kernel under the roofs: its intensity at each level, its rate, and what bounds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.roofline.levels import Roofs
from formwright.roofline.narrow import template_multiplies_bf16
from formwright.roofline.nest import nest_of
from formwright.roofline.traffic import Moved, moved, operations

NEAR: Final = 0.8
"""A roof bounds a kernel that spends at least this share of its time at it."""

SLOW: Final = ("exp", "/", "sqrt", "rsqrt")
"""Operations that a core does not do at the rate of multiply-adds."""

Timed = Literal["measured", "modelled"]


@dataclass(frozen=True, slots=True)
class Intensity:
    """What the program text gives: operations by name, and by level the bytes of each buffer.

    Of a kernel without a program text only the outermost level is known, from below. ``narrow``:
    its operator multiplies bf16 by bf16 (:func:`formwright.roofline.narrow.multiplies_bf16`).
    """

    operations: Mapping[str, int]
    moved: Mapping[str, tuple[Moved, ...]]
    narrow: bool = False

    @property
    def flops(self) -> int:
        """Each operation counts as one, a multiply-add as two, a function such as exp as one."""
        return sum(self.operations.values())

    def bytes(self, level: str) -> int:
        return sum(m.both for m in self.moved[level])


@dataclass(frozen=True, slots=True)
class LevelUse:
    """``seconds``: the bytes at the level's bandwidth; ``share`` of the kernel's, 1 is the roof."""

    level: str
    bytes: int
    intensity: float | None
    bandwidth: float | None
    seconds: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """``bound``: the roof's name, or ``None`` where none explains the time; ``says`` in words."""

    bound: str | None
    share: float
    says: str


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel under roofs. ``flops``: of the program, or those that the contract counts as useful.

    ``seconds`` is measured on the very binary, or the cost model's prediction (``timed``).
    """

    name: str
    flops: int
    seconds: float | None
    timed: Timed
    uses: tuple[LevelUse, ...]
    peak_share: float | None
    verdict: Verdict | None

    @property
    def rate(self) -> float | None:
        """Operations a second."""
        return self.flops / self.seconds if self.seconds else None


def intensity_of(
    template: Template,
    parameters: Mapping[str, Scalar],
    assignment: Mapping[str, int],
    roofs: Roofs,
) -> Intensity:
    """Of one design at one workload (``parameters``: extents, agents, chip fields of the scope).

    Raises :class:`formwright.roofline.spans.UnboundedError` where an index has no bound.
    """
    nest = nest_of(template, parameters, assignment)
    by_level = {level.name: moved(nest, level.inner) for level in roofs.levels}
    return Intensity(operations(nest), by_level, template_multiplies_bf16(template))


def point_of(
    name: str,
    intensity: Intensity,
    roofs: Roofs,
    seconds: float | None,
    timed: Timed = "measured",
    useful: int | None = None,
) -> Point:
    """``seconds`` under ``roofs``; ``useful``: operations the contract counts, without padding."""
    flops = intensity.flops if useful is None else useful
    uses = []
    for level in roofs.levels:
        if level.name not in intensity.moved:
            continue
        size = intensity.bytes(level.name)
        least = size / level.bandwidth if level.bandwidth else None
        uses.append(
            LevelUse(
                level=level.name,
                bytes=size,
                intensity=flops / size if size else None,
                bandwidth=level.bandwidth,
                seconds=least,
                share=least / seconds if seconds and least is not None else None,
            )
        )
    roof = roofs.peak_for(intensity.narrow)
    peak = flops / roof / seconds if roof and seconds else None
    shares = {u.level: u.share for u in uses if u.share is not None}
    if peak is not None:
        shares["arithmetic"] = peak
    verdict = _verdict(shares, _questions(intensity, roofs)) if shares else None
    return Point(name, flops, seconds, timed, tuple(uses), peak, verdict)


def _questions(intensity: Intensity, roofs: Roofs) -> str:
    """What the model does not know and may be the reason, for this kernel."""
    found = ["latency", "operations that wait for each other", "issue of instructions"]
    slow = [n for n in SLOW if intensity.operations.get(n)]
    if slow:
        found.append(f"{' and '.join(slow)}, whose rate is not measured")
    if roofs.threads > 1:
        found.append("threads that wait for each other or start late")
    return f"is it {', '.join(found[:-1])} or {found[-1]}?"


def _verdict(shares: Mapping[str, float], questions: str) -> Verdict:
    """The roof with the largest share; above 1 the data did not come from where the model says."""
    beyond = {n: s for n, s in shares.items() if s > 1 / NEAR}
    rest = {n: s for n, s in shares.items() if n not in beyond}
    note = ""
    if beyond:
        names = " and ".join(beyond)
        note = (
            f"; faster than {names} would allow, so not all of it came from there"
            " (inputs found in a nearer cache, weights kept in fewer bits, or reuse that the model"
            " does not see)"
        )
    if not rest:
        name = max(shares, key=shares.__getitem__)
        return Verdict(None, shares[name], f"no roof of the model holds{note}")
    name = max(rest, key=rest.__getitem__)
    share = rest[name]
    if share >= NEAR:
        return Verdict(name, share, f"{_bound(name)} bounds it, at {share:.0%} of the roof{note}")
    nearest = f"no roof explains the time: {_bound(name)} comes closest at {share:.0%}"
    return Verdict(None, share, f"{nearest}; {questions}{note}")


def _bound(name: str) -> str:
    return "arithmetic" if name == "arithmetic" else f"bandwidth of {name}"
