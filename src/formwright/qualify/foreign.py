"""Kernels that a person or another tool wrote: found, built with stated flags, given our interface.

What is compiled is C text that somebody hands in, so the flags that come with it are held
against a list: none of them runs a program or reads a file.
"""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from formwright.base.diagnostics import Diagnostic, InputError, fail
from formwright.base.files import write_bytes, write_text
from formwright.base.toml import Document, read_toml_file
from formwright.codegen.build import FLAGS, LINK, find_compiler, run_compiler
from formwright.codegen.target import Target, detect_target
from formwright.contract.contract import Contract
from formwright.qualify.adapter import (
    adapter_text,
    declaration,
    interface_of,
    plain_signature,
)

SIDECAR: Final = "kernel.toml"
"""In a folder: says which file is the kernel and how it is called."""

_KEYS: Final = ("source", "library", "call", "function", "flags")

_FLAG: Final = re.compile(
    r"-(O[0-3s]|Ofast|std=[a-z0-9+]+|pthread|m(?!arch|tune|cpu)[a-z0-9.=-]+|march=x86-64(-v[234])?"
    r"|f(?!plugin|profile|dump|sanitize|lto)[a-z0-9-]+(=[a-z0-9-]+)?|D[A-Za-z_]\w*(=-?[\w.]+)?)"
)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A kernel to be judged. ``function`` is plain C that an adapter wraps; ``None``: it has
    the call interface of its own. ``built``: the file is a library, else C source."""

    path: Path
    built: bool
    function: str | None
    flags: tuple[str, ...]

    @property
    def name(self) -> str:
        """A name for its artifact."""
        stem = self.path.parent.name if self.path.stem == "kernel" else self.path.stem
        return re.sub(r"[^A-Za-z0-9_.-]", "_", stem).lstrip("._-")[:64] or "kernel"


@dataclass(frozen=True, slots=True)
class Built:
    """``library`` as it will be judged, and what it was built from."""

    library: Path
    source: str | None
    adapter: str | None
    command: tuple[str, ...]


def find_kernel(path: Path, function: str | None = None, flags: Sequence[str] = ()) -> Foreign:
    """The kernel at ``path``: a C file, a library, or a folder with one of them.

    A library says in ``NAME.toml`` beside it how it is called (``call = "fw_call"``); in a
    folder ``kernel.toml`` names the file. Raises ``InputError``.
    """
    if not path.exists():
        raise fail(f"{path} does not exist", hint="give a C file, a library or a folder")
    if path.is_dir():
        return _in_folder(path, function, flags)
    if path.suffix == ".c":
        return Foreign(path, False, function, _allowed(flags))
    if path.suffix == ".so":
        return _library(path, path.with_suffix(".toml"))
    raise fail(f"{path} is no C file and no library", hint="it ends in .c or .so")


def _in_folder(folder: Path, function: str | None, flags: Sequence[str]) -> Foreign:
    sidecar = folder / SIDECAR
    if sidecar.is_file():
        return _stated(sidecar)
    if (folder / "record.json").is_file():
        raise fail(f"{folder} is an artifact", hint="formwright requalify checks it again")
    found = sorted([*folder.glob("*.c"), *folder.glob("*.so")])
    if len(found) != 1:
        what = "no C file and no library" if not found else f"{len(found)} files that may be it"
        raise fail(f"{folder} has {what}", hint=f"name one in {SIDECAR}: source = …")
    return find_kernel(found[0], function, flags)


def _library(path: Path, sidecar: Path) -> Foreign:
    if not sidecar.is_file():
        raise fail(
            f"{path} has no {sidecar.name} beside it that says how it is called",
            hint='write call = "fw_call" in it, for a library that exports our interface',
        )
    found = _stated(sidecar)
    if found.path.resolve() != path.resolve():
        raise fail(f"{sidecar} is about {found.path.name}", hint=f'library = "{path.name}"')
    return found


def _stated(sidecar: Path) -> Foreign:
    """What a sidecar says. Collects its faults, each at its place."""
    document = read_toml_file(sidecar)
    table = document.table
    faults = list(document.unknown((), table, _KEYS))
    for key in ("source", "library", "call", "function"):
        if key in table and (not isinstance(table[key], str) or not table[key]):
            faults.append(_at(document, key, f"{key} is not a text", f'write {key} = "…"'))
    if not faults:
        faults += _contradictions(document, sidecar)
    flags = table.get("flags", [])
    if not isinstance(flags, list) or not all(isinstance(f, str) for f in flags):
        faults.append(_at(document, "flags", "flags is no list of texts", 'flags = ["-O3"]'))
        flags = []
    for flag in flags:
        if not _FLAG.fullmatch(flag):
            faults.append(_at(document, "flags", f'flag "{flag}" is not taken', _FLAG_HINT))
    if faults:
        raise InputError(faults, document.source)
    name = _file_named(table, sidecar)
    call = table.get("call", "plain" if "function" in table else None)
    function = None if call == "fw_call" else table.get("function")
    return Foreign(sidecar.parent / name, name.endswith(".so"), function, tuple(flags))


def _file_named(table: dict[str, Any], sidecar: Path) -> str:
    return str(table.get("source") or table.get("library") or f"{sidecar.stem}.so")


def _contradictions(document: Document, sidecar: Path) -> list[Diagnostic]:
    table = document.table
    name = _file_named(table, sidecar)
    if "source" in table and "library" in table:
        return [_at(document, "library", "source and library are both named", "name one")]
    if Path(name).name != name or not (sidecar.parent / name).is_file():
        key = "source" if "source" in table else "library"
        return [_at(document, key, f"there is no {name} beside it", "name a file beside it")]
    if table.get("call") not in (None, "fw_call", "plain"):
        return [_at(document, "call", f'unknown call "{table["call"]}"', "fw_call or plain")]
    if name.endswith(".so") and table.get("call") != "fw_call":
        return [
            _at(
                document,
                "call",
                "a built library must export fw_call: no adapter can be put round a plain function"
                " that is linked already",
                'give its C source, or link an adapter into it and write call = "fw_call"',
            )
        ]
    return []


def _at(document: Document, key: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(message, document.value(key), hint)


_FLAG_HINT: Final = (
    "-O…, -m… (instruction sets by name), -f…, -D… and -std=… are: nothing that reads files or"
    " runs programs, and no -march=native"
)


def _allowed(flags: Sequence[str]) -> tuple[str, ...]:
    for flag in flags:
        if not _FLAG.fullmatch(flag):
            raise fail(f'flag "{flag}" is not taken', hint=_FLAG_HINT)
    return tuple(flags)


def build_kernel(kernel: Foreign, contract: Contract, folder: Path) -> Built:
    """The library that is judged, in ``folder``. Raises ``InputError`` when it does not build.

    A library that came built is copied as it is. Source with ``fw_call`` is compiled alone;
    a plain function must have the signature of the contract, which the compiler checks.
    """
    library = folder / "kernel.so"
    if kernel.built:
        write_bytes(library, kernel.path.read_bytes())
        library.chmod(0o755)
        return Built(library, None, None, ())
    try:
        text = kernel.path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise fail(f"{kernel.path} is not UTF-8", hint="give C source") from None
    own = kernel.function is None and interface_of(text) is not None
    function = kernel.function or "kernel"
    if not own and not re.search(rf"\b{re.escape(function)}\s*\(", text):
        raise fail(
            f"{kernel.path} defines neither fw_call nor {function}",
            hint=f"write {plain_signature(contract, function)}, or name it with --function",
        )
    target = detect_target()
    adapter = None if own else adapter_text(contract, function, target.features)
    check = None if own else f"{declaration(contract, function)};"
    return _compiled(kernel, text, adapter, check, target, library)


def _compiled(
    kernel: Foreign,
    text: str,
    adapter: str | None,
    check: str | None,
    target: Target,
    library: Path,
) -> Built:
    """``check`` is a declaration that the source's own must agree with."""
    compiler = find_compiler()
    flags = (*FLAGS, *target.flags, *kernel.flags)
    with tempfile.TemporaryDirectory(prefix="formwright-build-") as place:
        folder, named = Path(place), kernel.path.name
        write_text(folder / "kernel.c", text)
        _one_file((*compiler, *flags), folder, text, named)
        sources = ["kernel.c"]
        if adapter is not None:
            joined = f'#include "kernel.c"\n#include <stdint.h>\n{check}\n'
            write_text(folder / "joined.c", joined)
            try:
                run_compiler((*compiler, *flags, "-fsyntax-only", "joined.c"), folder, named)
            except InputError as error:
                raise _told(error, f"the signature is {check}") from None
            write_text(folder / "adapter.c", adapter)
            sources.append("adapter.c")
        command = (*compiler, *flags, "-o", "kernel.so", *sources, *LINK)
        run_compiler(command, folder, named)
        write_bytes(library, (folder / "kernel.so").read_bytes())
    library.chmod(0o755)
    return Built(library, text, adapter, command)


def _one_file(compile_: tuple[str, ...], folder: Path, text: str, named: str) -> None:
    """Raise ``InputError`` for source that other files than headers of the system are part of.

    The record keeps one file: what else went into the library would stand nowhere.
    """
    run_compiler((*compile_, "-MM", "-MF", "parts", "kernel.c"), folder, named)
    parts = (folder / "parts").read_text(encoding="utf-8").replace("\\\n", " ").split()[1:]
    others = [part for part in parts if part != "kernel.c"]
    others += re.findall(r"\.incbin|\.include", text)
    if others:
        raise fail(
            f"{named} takes in {others[0]}", hint="give one file: headers of the system only"
        )


def _told(error: InputError, hint: str) -> InputError:
    return InputError([replace(d, hint=d.hint or hint) for d in error.diagnostics], error.source)
