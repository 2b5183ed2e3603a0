"""What the machine did while programs were timed: the frequency of its cores, where readable."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_CORE = re.compile(r"^processor\s*:\s*(\d+)$", re.MULTILINE)
_MHZ = re.compile(r"^cpu MHz\s*:\s*([\d.]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Frequency:
    """The clock of some cores in MHz, least and greatest, and where it was read.

    In a virtual machine it is what the host says, which is often a constant.
    """

    low: float
    high: float
    source: str


def frequency(
    cores: Sequence[int], sys: Path = Path("/sys"), proc: Path = Path("/proc")
) -> Frequency | None:
    """The present frequency of ``cores``, or ``None`` where the system does not say."""
    found = []
    for core in cores:
        path = sys / f"devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq"
        try:
            found.append(int(path.read_text(encoding="ascii")) / 1e3)
        except (OSError, ValueError):
            break
    if found and len(found) == len(cores):
        return Frequency(min(found), max(found), "cpufreq")
    try:
        text = (proc / "cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return None
    told = dict(zip(map(int, _CORE.findall(text)), map(float, _MHZ.findall(text)), strict=False))
    found = [told[core] for core in cores if core in told]
    return Frequency(min(found), max(found), "cpuinfo") if found else None
