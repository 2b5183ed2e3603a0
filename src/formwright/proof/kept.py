"""Reading a kept proof by the digest of its template, or by the text that the template has.

Two kinds of file. A *proof* is kept under the digest of the inlined template, of the source
text of everything that gives it meaning (expressions, program, conditions), and of the
solver's version. A *text* leads to the digest of its template: what the parser would find
again. It is kept under the text, the source of everything that reads it, and the version of
Python. Dependencies are derived, none is declared. A file that does not check against its own
digest is ignored. Neither the parser nor the nodes are loaded here.
"""

import hashlib
import json
import sys
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from formwright.base.digest import digest
from formwright.proof.rereading import obligation_of
from formwright.proof.verdict import Proof

SCHEMA = 1
_MEANING = ("ir", "smt", "proof")
_READING = ("base", "ir", "lang", "proof")
_SOURCES = Path(__file__).parent.parent


def solver_version() -> str:
    """The solver that an import would load, without loading it.

    The folder of its distribution stands beside it and carries the version in its name
    (PyPA, "Recording installed projects"); ``importlib.metadata`` is asked only if there is
    not exactly one, since it imports the e-mail and archive packages.
    """
    spec = find_spec("z3")
    if spec is None or spec.origin is None:
        return "z3 (not installed)"
    found = list(Path(spec.origin).parent.parent.glob("z3_solver-*.dist-info"))
    if len(found) == 1:
        return f"z3 {found[0].name.removeprefix('z3_solver-').removesuffix('.dist-info')}"
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"z3 {version('z3-solver')}"
    except PackageNotFoundError:
        return f"z3 of unknown version {Path(spec.origin).stat().st_mtime_ns}"


def context() -> str:
    """What a kept fact is true under: the rules, and the solver that showed it."""
    return digest([semantics_digest(), solver_version()])


def database_path(directory: Path) -> Path:
    """Where cores, nodes and open obligations are kept."""
    return directory / "facts.sqlite"


@lru_cache(maxsize=1)
def semantics_digest() -> str:
    """What the rules mean, as the text of the packages that read them."""
    return _known_digest(_MEANING)


def proof_path(directory: Path, template_digest: str) -> Path:
    """Where the proof of a template is, if it is kept."""
    key = digest([template_digest, semantics_digest(), solver_version()])
    return directory / f"{key}.json"


def text_path(directory: Path, text: str) -> Path:
    """Where the digest of the template in ``text`` is, if it is kept."""
    key = digest([text, _known_digest(_READING), sys.version])
    return directory / "texts" / f"{key}.json"


def read_text_digest(directory: Path, text: str) -> str | None:
    """The digest of the template in ``text``, if a proof of that text was kept."""
    kept = _read(text_path(directory, text))
    try:
        found = kept["digest"]
        whole = kept["schema"] == SCHEMA and kept["sha256"] == digest([text, found])
    except (KeyError, TypeError):
        return None
    return found if whole and isinstance(found, str) else None


def read_proof(directory: Path, template_digest: str) -> Proof | None:
    """The kept proof, each obligation marked as reused; ``None`` if there is none.

    It comes back only if the file is whole, is of this template and says ``proved`` throughout.
    """
    kept = _read(proof_path(directory, template_digest))
    try:
        body = kept["proof"]
        if kept["schema"] != SCHEMA or kept["sha256"] != digest(body):
            return None
        if body["digest"] != template_digest or body["verdict"] != "proved":
            return None
        obligations = tuple(replace(obligation_of(o), reused=True) for o in body["obligations"])
        proof = Proof(
            body["template"],
            body["digest"],
            body["verdict"],
            obligations,
            float(body["seconds"]),
            body["solver"],
        )
    except (KeyError, TypeError, ValueError):
        return None
    return proof if obligations and all(o.verdict == "proved" for o in obligations) else None


def kept_text(kept: Any) -> str:
    """The one way that a kept file is written: nobody reads it, and indented JSON is slow."""
    return json.dumps(kept, sort_keys=True) + "\n"


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=4)
def _known_digest(packages: tuple[str, ...]) -> str:
    """Modules that are loaded do not change under a process."""
    return _sources_digest(packages)


def _sources_digest(packages: tuple[str, ...], root: Path = _SOURCES) -> str:
    """Hex SHA-256 of the names and contents of all modules of ``packages``, inner ones too."""
    total = hashlib.sha256()
    for package in packages:
        for file in sorted((root / package).rglob("*.py")):
            content = file.read_bytes()
            total.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode())
            total.update(content)
    return total.hexdigest()
