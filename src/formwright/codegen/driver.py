"""The whole C file: helpers, environment, phases, driver and the functions of the ABI."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from formwright.codegen.context import Context, Output, Storage, Writer
from formwright.codegen.places import Place
from formwright.codegen.statements import emit_block
from formwright.codegen.target import F16C
from formwright.codegen.tile_functions import unpack
from formwright.ir.program import Stmt

ABI = 1
ALIGN = 64
SMALL_WORK = 50_000
"""Below so many points of the workload's loops a second thread costs more than it does."""


def runtime_text(name: str) -> str:
    return files("formwright.codegen").joinpath("runtime", name).read_text()


def driver_function(name: str, block: Sequence[Stmt], context: Context) -> tuple[str, Context]:
    """``static void name(fw_env *e)`` that runs ``block``; phases go to the output before it."""
    body = Writer()
    inside = replace(context, writer=body, level="driver")
    with body.block(f"static void {name}(fw_env *const e)"):
        unpack(context, body)
        after = emit_block(block, inside)
    return body.text(), replace(after, packing_ahead=False)


def environment_text(output: Output, fixed: Sequence[tuple[str, str]]) -> str:
    out = Writer()
    out.line("typedef struct {")
    out.depth = 1
    for kind, name in fixed:
        out.line(f"{kind}{'' if kind.endswith('*') else ' '}{name};")
    for storage in (*output.ahead, *output.shared):
        out.line(f"{storage.kind.c_type} *{storage.name};")
    for name in output.counters:
        out.line(f"int64_t {name};")
    for storage in output.private:
        out.line(f"int64_t o_{storage.name};")
    out.line("char *slices;")
    out.line("int64_t slice_bytes;")
    out.line("int32_t threads;")
    out.depth = 0
    out.line("} fw_env;")
    return out.text()


def layout_text(output: Output, extents: Sequence[str]) -> str:
    """``fw_layout``: bytes of scratch, and the addresses in ``e`` once ``scratch`` is there."""
    out = Writer()
    with out.block("static int64_t fw_bytes(int64_t elements, int64_t size)"):
        out.line(f"return (elements * size + {ALIGN - 1}) / {ALIGN} * {ALIGN} + {ALIGN};")
    for name, storages in (("fw_place_ahead", output.ahead), ("fw_place_shared", output.shared)):
        with out.block(f"static int64_t {name}(fw_env *const e, char *const base)"):
            _unpack_extents(out, extents)
            out.line("int64_t bytes = 0;")
            for storage in storages:
                kind, head = storage.kind, _head(storage)
                out.line(f"e->{storage.name} = ({kind.c_type} *)(base + bytes{head});")
                out.line(f"bytes += fw_bytes({storage.elements}, {kind.size}){head};")
            out.line("(void)base;")
            out.line("return bytes;")
    with out.block("static int64_t fw_place_private(fw_env *const e)"):
        _unpack_extents(out, extents)
        out.line("int64_t bytes = 0;")
        for storage in output.private:
            kind, head = storage.kind, _head(storage)
            out.line(f"e->o_{storage.name} = bytes{head};")
            out.line(f"bytes += fw_bytes({storage.elements}, {kind.size}){head};")
        out.line("return (bytes + 4095) / 4096 * 4096;")
    return out.text()


def _head(storage: Storage) -> str:
    return f" + {storage.head}" if storage.head else ""


def _unpack_extents(out: Writer, extents: Sequence[str]) -> None:
    for name in extents:
        out.line(f"const int64_t n_{name} FW_MAYBE = e->n_{name};")


def coding_text(output: Output, extents: Sequence[str]) -> str:
    """``fw_code_ahead``: what is packed ahead in fewer bits (``runtime/coded.h``)."""
    out = Writer()
    with out.block("FW_MAYBE static void fw_code_ahead(fw_env *const e)"):
        _unpack_extents(out, extents)
        for call in output.codings:
            out.line(call)
        out.line("(void)e;")
    return out.text()


def abi_text(
    tensors: Sequence[Place],
    extents: Sequence[str],
    lowest: Sequence[int],
    points: str,
    features: Sequence[str],
    ahead: bool,
) -> str:
    """The exported functions; see ``runtime/abi.h`` for what the parts do."""
    fill = "".join(f"    e->n_{n} = extents[{i}];\n" for i, n in enumerate(extents))
    check = " || ".join(f"extents[{i}] < {low}" for i, low in enumerate(lowest))
    set_tensors = "".join(
        f"    e->{t.name} = tensors[{i}];\n    e->{t.stride} = strides[{i}];\n"
        for i, t in enumerate(tensors)
    )
    guard = " && ".join(dict.fromkeys(_asked(f) for f in features)) or "1"
    text = runtime_text("abi.h")
    text = text.replace("/*FILL*/", fill.rstrip()).replace("/*TENSORS*/", set_tensors.rstrip())
    text = text.replace("FW_BAD_EXTENTS", check).replace("FW_CPU", guard)
    text = text.replace("FW_POINTS", points).replace("FW_SMALL_WORK", str(SMALL_WORK))
    text = text.replace("FW_ABI_NUMBER", str(ABI))
    return text + (runtime_text("ahead.h") if ahead else "")


_ASKED = {
    F16C: "fw_has_f16c()",
    "avx512_bf16": "fw_has_bf16()",
    "amx_tile": "fw_has_tiles()",
    "amx_bf16": "fw_has_tiles()",
}
"""Features that compilers do not all know by name, or that the system has to lend as well."""


def _asked(feature: str) -> str:
    """C text that is 1 where this CPU has a feature."""
    return _ASKED.get(feature, f'__builtin_cpu_supports("{feature}")')
