"""The texts of a chain: its TOML file and the steps that it names. No parser is loaded for it."""

from dataclasses import dataclass
from pathlib import Path

from formwright.base.diagnostics import Diagnostic, InputError, fail, nearest
from formwright.base.source import Source, Span
from formwright.base.toml import Document, read_toml
from formwright.lang.sources import read_source

SUFFIX = ".toml"
MOST_STEPS = 32

_SHIPPED = Path(__file__).parent.parent / "chains"
_TOP = ("chain", "assumptions")
_CHAIN = ("name", "description", "workload", "steps")
_EXAMPLE = 'as in steps = ["gemm/1_reduction_partition.fw", …]'


@dataclass(frozen=True, slots=True)
class ChainSource:
    """What a chain file says, not yet parsed. ``places`` are those of ``steps`` in the file."""

    source: Source
    name: str
    description: str
    workload: str
    workload_place: Span | None
    steps: tuple[Source, ...]
    places: tuple[Span | None, ...]
    assumptions: tuple[tuple[str, str], ...]


def shipped_chains() -> tuple[str, ...]:
    """Names of the chains that ship, sorted."""
    return tuple(sorted(f.stem for f in _SHIPPED.iterdir() if f.suffix == SUFFIX))


def names_chain(reference: str) -> bool:
    """Whether ``reference`` is meant as a chain: a TOML file, or a chain's name that ships.

    A shipped template of the same name comes first, and so does a file of that name.
    """
    if reference.endswith(SUFFIX):
        return True
    plain = Path(reference).name == reference or reference == f"chains/{Path(reference).name}"
    return plain and Path(reference).name in shipped_chains() and not Path(reference).is_file()


def load_chain_source(reference: str) -> ChainSource:
    """The file at ``reference``; else the chain of that name that ships, from any folder.

    ``chains/gemm.toml``, ``gemm.toml``, ``chains/gemm`` and ``gemm`` name the same one.
    Raises :class:`InputError` with every fault of the file and for each step without a text.
    """
    path = Path(reference)
    if not path.is_file():
        stem = path.name.removesuffix(SUFFIX)
        known = shipped_chains()
        if path.parent not in (Path("."), Path("chains")) or stem not in known:
            hint = nearest(stem, known) or f"chains that ship: {', '.join(known)}"
            raise fail(f"no chain {reference}", hint=hint)
        path, shown = _SHIPPED / f"{stem}{SUFFIX}", f"chains/{stem}{SUFFIX}"
    else:
        shown = reference
    return _Reader(read_toml(read_source(path, shown)), path.parent, Path(shown).parent).read()


class _Reader:
    """Reads one document; ``folder`` is where its steps are, ``shown`` what messages call it."""

    def __init__(self, document: Document, folder: Path, shown: Path) -> None:
        self._document = document
        self._folder = folder
        self._shown = shown
        self._faults: list[Diagnostic] = []

    def read(self) -> ChainSource:
        document, source = self._document, self._document.source
        self._faults += document.unknown((), document.table, _TOP)
        chain = self._table("chain")
        self._faults += document.unknown(("chain",), chain, _CHAIN)
        name = self._text(chain, "name", 'write name = "…"')
        workload = self._text(chain, "workload", "write the contract that the chain is to meet")
        description = self._text(chain, "description", "") if "description" in chain else ""
        steps, places = self._steps(chain.get("steps"))
        assumptions = tuple(self._assumptions())
        if self._faults:
            raise InputError(self._faults, source)
        return ChainSource(
            source,
            name,
            description,
            workload,
            document.value("chain", "workload"),
            steps,
            places,
            assumptions,
        )

    def _table(self, key: str) -> dict[str, object]:
        value = self._document.table.get(key, {})
        if isinstance(value, dict) and (value or key != "chain"):
            return value
        hint = f"write [{key}] with {', '.join(_CHAIN)}" if key == "chain" else f"write [{key}]"
        self._fault(f"{key} is a table" if value else f"there is no [{key}]", hint, key)
        return {}

    def _text(self, table: dict[str, object], key: str, hint: str) -> str:
        value = table.get(key)
        if isinstance(value, str) and value.strip() and "\n" not in value:
            return value
        if table:
            what = f"{key} is one line of text" if key in table else f"the chain has no {key}"
            self._fault(what, hint or "put it in quotes", "chain", key)
        return ""

    def _steps(self, value: object) -> tuple[tuple[Source, ...], tuple[Span | None, ...]]:
        place = ("chain", "steps")
        if not isinstance(value, list) or not value:
            if self._document.table.get("chain"):
                self._fault("a chain has steps, the coarsest first", _EXAMPLE, *place)
            return (), ()
        if len(value) > MOST_STEPS:
            self._fault(f"a chain has at most {MOST_STEPS} steps", "split it", *place)
            return (), ()
        sources: list[Source] = []
        for number, file in enumerate(value):
            if not isinstance(file, str):
                self._fault("a step is a file's name", _EXAMPLE, *place, number)
            elif file in value[:number]:
                self._fault(f"the step {file} stands twice", "leave one out", *place, number)
            else:
                sources += self._step(file, number)
        places = tuple(self._document.value(*place, n) for n in range(len(value)))
        return tuple(sources), places

    def _step(self, file: str, number: int) -> list[Source]:
        path = self._folder / file
        try:
            return [read_source(path, str(self._shown / file))]
        except InputError as error:
            first = error.diagnostics[0].message
            known = sorted(
                str(f.relative_to(self._folder)) for f in path.parent.glob("*.fw") if f.is_file()
            )
            hint = nearest(file, known) or "paths are relative to the chain's file"
            self._fault(first, hint, "chain", "steps", number)
            return []

    def _assumptions(self) -> list[tuple[str, str]]:
        found = []
        for name, text in self._table("assumptions").items():
            if isinstance(text, str) and text.strip():
                found.append((name, text))
            else:
                self._fault("an assumption is a text", f'as in {name} = "…"', "assumptions", name)
        return found

    def _fault(self, message: str, hint: str, *place: str | int) -> None:
        self._faults.append(Diagnostic(message, self._document.value(*place), hint))
