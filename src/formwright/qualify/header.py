"""``kernel.h``: the exported functions, the domain and the order of tensors, for C callers."""

import textwrap

from formwright.contract.contract import Contract

C_TYPES = {"f32": "float", "f16": "_Float16", "bf16": "uint16_t", "i8": "int8_t"}
"""The element types in C; bf16 is the upper half of a float, as bits."""


def header_text(contract: Contract, name: str, threads: int) -> str:
    """The header of one artifact. ``threads`` is the number that was qualified."""
    about = [
        f"{name}: a kernel for {contract.operator}, qualified by formwright.",
        "",
        *contract.formula,
        "",
        "Tensors, in the order of `tensors` and `strides`:",
        *(f"  [{i}] {line}" for i, line in enumerate(_tensors(contract))),
        "",
        "Extents, in the order of `extents`:",
        *(f"  [{i}] {e.name} in {e.low} .. {e.high}" for i, e in enumerate(contract.extents)),
        "",
        *textwrap.wrap(
            "A tensor is row-major: its last dimension is contiguous, and strides[i] is the"
            " number of elements from one row of it to the next, all leading dimensions flat."
            " Each tensor is aligned to one element. The output shares no byte with an input;"
            " only its cells are written.",
            92,
        ),
        "",
        *textwrap.wrap(
            "The caller keeps this domain: nothing here checks it but the extents. Outside it,"
            " and where fw_cpu_ok gives 0, call another implementation. contract.json and"
            " record.json beside this file say what was tested and how.",
            92,
        ),
    ]
    lines = ["/*", *(f" * {line}".rstrip() for line in about), " */"]
    guard = "FORMWRIGHT_KERNEL_H"
    body = _FUNCTIONS.replace("THREADS", str(threads))
    if contract.ahead:
        body += _AHEAD.replace("NAMES", ", ".join(contract.ahead))
    return "\n".join(
        [
            *lines,
            f"#ifndef {guard}",
            f"#define {guard}",
            "#include <stdint.h>",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            body.rstrip(),
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "#endif",
            "",
        ]
    )


def _tensors(contract: Contract) -> list[str]:
    return [
        f"{o.role} {C_TYPES[o.dtype]} {o.name}[{', '.join(o.extents)}] ({o.dtype})"
        for o in contract.operands
    ]


_FUNCTIONS = """
/* The version of this interface: 1. */
int32_t fw_abi(void);

/* 1 when this CPU has the instructions that the library uses. */
int32_t fw_cpu_ok(void);

/* Bytes of scratch for these extents, page aligned; below 0 for extents outside the domain. */
int64_t fw_scratch_bytes(const int64_t *extents, int32_t threads);

/* Runs once. 0, or an error code. Qualified with threads = THREADS; one call at a time. */
int32_t fw_call(void *const *tensors, const int64_t *strides, const int64_t *extents,
                void *scratch, int64_t scratch_bytes, int32_t threads);
"""

_AHEAD = """
/* Packs NAMES into `ahead`, fw_ahead_bytes of it, for calls with these extents. */
int64_t fw_ahead_bytes(const int64_t *extents);
int32_t fw_prepare(void *const *tensors, const int64_t *strides, const int64_t *extents,
                   void *scratch, int64_t scratch_bytes, int32_t threads, void *ahead);

/* As fw_call, with NAMES taken from `ahead`. */
int32_t fw_call_ahead(void *const *tensors, const int64_t *strides, const int64_t *extents,
                      void *scratch, int64_t scratch_bytes, int32_t threads,
                      const void *ahead);
"""
