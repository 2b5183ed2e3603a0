"""Which machine a number is of: named in every step that a job did, whole in a step of its own."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from platform import node
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.chip.machine import cpu_name
from formwright.codegen import detect_target
from formwright.codegen.build import find_compiler
from formwright.qualify.facts import gather


@dataclass(frozen=True, slots=True)
class Machine:
    """``isa`` is a digest of the CPU's feature flags, ``cores`` are those that may be used.

    ``target`` is the instruction set that is built for there, ``compiler`` what it says of itself
    (empty where there is none).
    """

    host: str
    cpu: str
    isa: str
    cores: int
    target: str
    compiler: str

    @property
    def name(self) -> str:
        """The host, and what tells its kind from others: ``lab-3-5d0c1e``."""
        host = re.sub(r"[^A-Za-z0-9.-]+", "-", self.host).strip("-") or "machine"
        return f"{host}-{digest(self._kind)[:6]}"

    @property
    def _kind(self) -> list[str | int]:
        return [self.cpu, self.isa, self.cores]

    def like(self, other: "Machine") -> bool:
        """Whether times of the two may stand in one comparison: the same CPU, features and cores.

        The host may be another: a container that is started anew has a new name.
        """
        return self._kind == other._kind

    def as_json(self) -> dict[str, Any]:
        """As it stands in a journal."""
        return asdict(self)


def machine_of(data: Mapping[str, Any]) -> Machine:
    """The machine that :meth:`Machine.as_json` told of."""
    return Machine(**{name: data[name] for name in Machine.__dataclass_fields__})


@cache
def this_machine() -> Machine:
    """The machine that this process runs on; it does not change under a process."""
    try:
        command = find_compiler()[0]
    except InputError:
        command = ""
    facts = gather(command)
    return Machine(
        host=node(),
        cpu=cpu_name(),
        isa=facts.isa,
        cores=facts.cores,
        target=detect_target().name,
        compiler=facts.compiler if command else "",
    )
