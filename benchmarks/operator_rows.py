"""The rows of ``operators.py``: layer sizes of two models, and the floors of each operator."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

DTYPES = ("f32", "bf16")
TOKENS = (1, 128, 512)
HISTORIES = (512, 2048)


@dataclass(frozen=True)
class Model:
    """Sizes of a layer: hidden, query heads, key heads, their width, feed-forward."""

    name: str
    hidden: int
    heads: int
    kv: int
    width: int
    inner: int

    @property
    def group(self) -> int:
        """Queries that share a key head."""
        return self.heads // self.kv


MODELS = (
    Model("Qwen2.5-0.5B", 896, 14, 2, 64, 4864),
    Model("Qwen3-8B", 4096, 32, 8, 128, 12288),
)


@dataclass(frozen=True)
class Shape:
    """An operator at one size; ``ahead`` are inputs that stay from call to call."""

    operator: str
    label: str
    extents: dict[str, int]
    ahead: tuple[str, ...] = ()


def shapes(model: Model) -> Iterator[Shape]:
    """All shapes of a model's layer, the operators in the order of the floors."""
    hidden, inner, group = model.hidden, model.inner, model.group
    for operator in ("gemv", "gemv_int8"):
        for n, k in ((inner, hidden), (hidden, inner)):
            yield Shape(operator, f"{n}x{k}", {"N": n, "K": k}, AHEAD.get(operator, ()))
    for tokens, history in ((1, 512), (1, 2048), (128, 2048), (512, 512)):
        label = f"{model.heads} heads, {tokens} tokens, history {history}"
        yield Shape("softmax", label, {"R": model.heads * tokens, "C": history})
    for operator in ("rmsnorm", "layernorm"):
        for tokens in TOKENS:
            yield Shape(operator, f"{tokens} tokens x {hidden}", {"T": tokens, "H": hidden})
    for tokens in TOKENS:
        sizes = {"T": tokens, "N": model.heads, "H": model.width}
        yield Shape("rope", f"{tokens} tokens x {model.heads} heads", sizes)
    for history in HISTORIES:
        sizes = {"H": model.kv, "G": group, "S": history, "D": model.width}
        yield Shape("decode_attention", f"{model.kv}x{group} heads, history {history}", sizes)
    for tokens in TOKENS:
        sizes = {"T": tokens, "D": hidden, "F": inner}
        label = f"{tokens} tokens, {hidden}-{inner}"
        yield Shape("gated_mlp", label, sizes, AHEAD["gated_mlp"])
    for tokens in TOKENS[1:]:
        sizes = {"H": model.kv, "G": group, "T": tokens, "D": model.width}
        yield Shape("prefill_attention", f"{model.kv}x{group} heads, {tokens} tokens", sizes)


REQUIRED = ("gemv", "softmax", "rmsnorm", "decode_attention", "gated_mlp", "prefill_attention")
"""Operators that must have a template; the others are rows where they have one."""

QUICK = {
    "gemv": {"N": 4864, "K": 896},
    "gemv_int8": {"N": 4864, "K": 896},
    "softmax": {"R": 14 * 128, "C": 512},
    "rmsnorm": {"T": 128, "H": 896},
    "layernorm": {"T": 128, "H": 896},
    "rope": {"T": 128, "N": 14, "H": 64},
    "decode_attention": {"H": 2, "G": 7, "S": 2048, "D": 64},
    "gated_mlp": {"T": 1, "D": 896, "F": 4864},
    "prefill_attention": {"H": 2, "G": 7, "T": 128, "D": 64},
}
"""One shape of each operator for a run of 50 s."""

QUICK_DTYPES = {"gemv": "bf16"}

AHEAD = {"gemv": ("W",), "gated_mlp": ("Wg", "Wu", "Wd")}
"""Weights that a model keeps: we and the peers may pack them outside the clock."""


def quick_shapes(operators: Iterable[str]) -> Iterator[tuple[Shape, str]]:
    """Each operator once, with its element type."""
    for operator in operators:
        extents = QUICK[operator]
        label = " ".join(f"{k}={v}" for k, v in extents.items())
        ahead = AHEAD.get(operator, ())
        yield Shape(operator, label, extents, ahead), QUICK_DTYPES.get(operator, "f32")


def floor(operator: str, dtype: str) -> float:
    """How many times faster than the fastest peer we must be."""
    if operator == "gemv" and dtype == "bf16":
        return 1.8
    if operator in ("rmsnorm", "softmax", "decode_attention"):
        return 1.3
    if operator in ("gated_mlp", "prefill_attention"):
        return 1.05
    return 1.0
