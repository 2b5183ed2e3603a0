"""The tasks of the study `transfer`: families of kernels, from one model's shapes to another's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from formwright.base.diagnostics import InputError
from formwright.flow.study_tasks import unknown_names


@dataclass(frozen=True, slots=True)
class Transfer:
    """``template`` was tuned at ``source`` and is asked for at ``target``."""

    name: str
    operator: str
    template: str
    source: Mapping[str, int]
    target: Mapping[str, int]
    what: str


@dataclass(frozen=True, slots=True)
class TransferPlan:
    """``source_designs`` are measured at the source, whose best is copied; ``target_designs`` more
    at the target, so that a best is found. ``repeats`` of solving, building and the comparison."""

    tasks: tuple[Transfer, ...]
    repeats: int = 3
    source_designs: int = 3
    target_designs: int = 4
    random_designs: int = 1
    rounds: int = 9
    threads: int = 2
    chip: str = "local"


_SMALL: Final = "Qwen2.5-0.5B"
_LARGE: Final = "Qwen3-8B"

TASKS: Final = (
    Transfer(
        "query-decode",
        "gemv",
        "gemv_rows",
        {"N": 896, "K": 896},
        {"N": 4096, "K": 4096},
        f"query projection of one token, {_SMALL} to {_LARGE}",
    ),
    Transfer(
        "query-int8",
        "gemv_int8",
        "gemv_int8_rows",
        {"N": 896, "K": 896},
        {"N": 4096, "K": 4096},
        f"query projection in int8, {_SMALL} to {_LARGE}",
    ),
    Transfer(
        "query-prefill",
        "gemm",
        "packed_gemm",
        {"M": 128, "N": 896, "K": 896},
        {"M": 128, "N": 4096, "K": 4096},
        f"query projection of 128 tokens, {_SMALL} to {_LARGE}",
    ),
    Transfer(
        "query-short",
        "gemm",
        "packed_gemm",
        {"M": 128, "N": 896, "K": 896},
        {"M": 17, "N": 896, "K": 896},
        f"query projection of {_SMALL}, 128 tokens to 17",
    ),
    Transfer(
        "attention-decode",
        "decode_attention",
        "decode_attention_heads",
        {"H": 2, "G": 7, "S": 1024, "D": 64},
        {"H": 8, "G": 4, "S": 1024, "D": 128},
        f"attention of one token, {_SMALL} to {_LARGE}",
    ),
    Transfer(
        "attention-longer",
        "decode_attention",
        "decode_attention_heads",
        {"H": 2, "G": 7, "S": 1024, "D": 64},
        {"H": 2, "G": 7, "S": 8192, "D": 64},
        f"attention of one token of {_SMALL}, history 1024 to 8192",
    ),
    Transfer(
        "attention-prefill",
        "prefill_attention",
        "prefill_attention_blocks",
        {"H": 2, "G": 7, "T": 128, "D": 64},
        {"H": 8, "G": 4, "T": 128, "D": 128},
        f"causal attention of 128 tokens, {_SMALL} to {_LARGE}",
    ),
    Transfer(
        "norm",
        "rmsnorm",
        "rmsnorm_rows",
        {"T": 128, "H": 896},
        {"T": 128, "H": 4096},
        f"RMSNorm of 128 tokens, {_SMALL} to {_LARGE}",
    ),
)
"""Known families at shapes that their templates were not tuned for."""


def transfer_plan(tasks: tuple[str, ...] = (), repeats: int = 3, threads: int = 2) -> TransferPlan:
    """All tasks where none is named.

    Raises:
        InputError: every name that is no task.
    """
    known = {task.name: task for task in TASKS}
    faults = unknown_names("task", tasks, tuple(known))
    if faults:
        raise InputError(faults)
    chosen = tuple(known[name] for name in tasks) or TASKS
    return TransferPlan(chosen, repeats=repeats, threads=threads)
