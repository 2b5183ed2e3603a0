"""C that gives a plain function the call interface: what other people's kernels are wrapped in.

A plain function takes contiguous tensors and extents. Where a caller's rows are padded, the
adapter copies them into scratch and the output back, within the clock; otherwise it passes the
pointers on.
"""

import re
from collections.abc import Sequence
from typing import Final

from formwright.contract.contract import Contract, Operand
from formwright.qualify.header import C_TYPES

_NO_CODE: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)


def interface_of(source: str) -> str | None:
    """``fw_call`` when C text defines the call interface itself."""
    # Comments and texts may speak of it.
    return "fw_call" if re.search(r"\bfw_call\s*\(", _NO_CODE.sub(" ", source)) else None


def plain_signature(contract: Contract, function: str) -> str:
    """The declaration that a plain function must have: inputs, output, extents, in order."""
    parts = [f"const {C_TYPES[o.dtype]} *{o.name}" for o in contract.inputs]
    parts.append(f"{C_TYPES[contract.output.dtype]} *{contract.output.name}")
    parts += [f"int64_t {name}" for name in contract.names]
    return f"void {function}({', '.join(parts)})"


def declaration(contract: Contract, function: str) -> str:
    """The same without names, which macros of the source could change."""
    parts = [f"const {C_TYPES[o.dtype]} *" for o in contract.inputs]
    parts.append(f"{C_TYPES[contract.output.dtype]} *")
    parts += ["int64_t"] * len(contract.names)
    return f"void {function}({', '.join(parts)})"


def adapter_text(contract: Contract, function: str, features: Sequence[str]) -> str:
    """The C of the exported functions over ``function``, a translation unit of its own.

    ``features`` are the CPU flags that the compiler was told it may use.
    """
    guard = " && ".join(f'__builtin_cpu_supports("{f}")' for f in features) or "1"
    lines = [
        "/* The call interface over a plain function; written by formwright. */",
        "#include <stdint.h>",
        "#include <string.h>",
        f"{plain_signature(contract, function)};",
        "int32_t fw_abi(void) { return 1; }",
        f"int32_t fw_cpu_ok(void) {{ __builtin_cpu_init(); return {guard}; }}",
        "static int64_t fw_round(int64_t bytes) { return (bytes + 127) / 64 * 64; }",
        "int64_t fw_scratch_bytes(const int64_t *fw_e, int32_t fw_t) {",
        *_extents(contract),
        f"  return {' + '.join(_room(contract, o) for o in contract.operands)};",
        "}",
        _ROWS,
        "int32_t fw_call(void *const *fw_tensors, const int64_t *fw_s, const int64_t *fw_e,",
        "                void *fw_scratch, int64_t fw_bytes, int32_t fw_t) {",
        *_extents(contract),
        "  char *fw_at = fw_scratch;",
        "  void *fw_p[] = {"
        + ", ".join(f"fw_tensors[{i}]" for i in range(_count(contract)))
        + "};",
    ]
    for number, operand in enumerate(contract.operands):
        lines += _packed(contract, number, operand)
    out = _count(contract) - 1
    arguments = [*(f"fw_p[{i}]" for i in range(_count(contract))), *contract.names]
    rows, columns = _sizes(contract.output)
    lines += [
        f"  {function}({', '.join(arguments)});",
        f"  if (fw_p[{out}] != fw_tensors[{out}])",
        f"    fw_rows(fw_tensors[{out}], fw_s[{out}], fw_p[{out}], {columns}, {rows}, {columns},"
        f" sizeof({C_TYPES[contract.output.dtype]}));",
        "  return 0;",
        "}",
        "",
    ]
    return "\n".join(lines)


_ROWS = """\
static void fw_rows(char *fw_to, int64_t fw_ts, const char *fw_from, int64_t fw_fs,
                    int64_t fw_rows, int64_t fw_columns, int64_t fw_size) {
  for (int64_t fw_r = 0; fw_r < fw_rows; fw_r++)
    memcpy(fw_to + fw_r * fw_ts * fw_size, fw_from + fw_r * fw_fs * fw_size,
           (size_t)(fw_columns * fw_size));
}"""


def _packed(contract: Contract, number: int, operand: Operand) -> list[str]:
    rows, columns = _sizes(operand)
    lines = [f"  if (fw_s[{number}] != {columns} && {rows} > 1) {{", f"    fw_p[{number}] = fw_at;"]
    if operand.role == "input":
        size = f"sizeof({C_TYPES[operand.dtype]})"
        lines.append(
            f"    fw_rows(fw_at, {columns}, fw_tensors[{number}], fw_s[{number}],"
            f" {rows}, {columns}, {size});"
        )
    return [*lines, f"    fw_at += {_room(contract, operand)};", "  }"]


def _extents(contract: Contract) -> list[str]:
    return [
        f"  const int64_t {name} = fw_e[{i}]; (void){name};"
        for i, name in enumerate(contract.names)
    ]


def _count(contract: Contract) -> int:
    return len(contract.operands)


def _sizes(operand: Operand) -> tuple[str, str]:
    """Rows, all leading dimensions together, and columns."""
    return "*".join(operand.extents[:-1]) or "1", operand.extents[-1]


def _room(contract: Contract, operand: Operand) -> str:
    return f"fw_round({'*'.join(operand.extents)} * (int64_t)sizeof({C_TYPES[operand.dtype]}))"
