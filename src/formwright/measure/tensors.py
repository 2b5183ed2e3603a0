"""What a kernel is called with: tensors by shape and stride, and cases to judge it by."""

from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401  (NumPy knows "bfloat16" by name once this is imported)
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def widened(array: Array) -> Array:
    """The exact values in a type that NumPy computes fast in: float32, or float64 as it is."""
    if array.dtype == np.float32 or array.dtype == np.float64:
        return array
    if array.dtype.name == "bfloat16":
        # Half of a float32's bits; ml_dtypes converts one element at a time.
        bits = np.left_shift(array.view(np.uint16), 16, dtype=np.uint32)
        return bits.view(np.float32)
    return array.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A row-major tensor; ``row_stride`` is in elements (the last dimension has stride 1).

    Only the leading dimension may be padded: for shape ``(m, n)``, ``row_stride >= n``.
    """

    name: str
    shape: tuple[int, ...]
    output: bool = False
    dtype: str = "float32"
    row_stride: int | None = None

    def __post_init__(self) -> None:
        if any(extent < 0 for extent in self.shape) or not self.shape:
            raise ValueError(f"{self.name}: shape {self.shape} is not a tensor's")
        if self.stride < self.columns:
            raise ValueError(f"{self.name}: row stride {self.stride} is below {self.columns}")

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(np.dtype(self.dtype).itemsize)

    @property
    def columns(self) -> int:
        """Elements of one row."""
        return self.shape[-1]

    @property
    def rows(self) -> int:
        """Number of rows, all leading dimensions together."""
        count = 1
        for extent in self.shape[:-1]:
            count *= extent
        return count

    @property
    def stride(self) -> int:
        """Elements from one row to the next."""
        return self.columns if self.row_stride is None else self.row_stride

    @property
    def elements(self) -> int:
        """Elements from the first to the last one, padding between rows included."""
        if self.rows == 0 or self.columns == 0:
            return 0
        return (self.rows - 1) * self.stride + self.columns

    @property
    def bytes(self) -> int:
        """Bytes from the first to the end of the last element."""
        return self.elements * self.itemsize


@dataclass(frozen=True, slots=True)
class Case:
    """Inputs in the order of the tensors, the expected output and how far off each cell may be.

    ``expected`` and ``tolerance`` are float64 (or integers) of the output's shape; a cell passes
    when it equals the expected value (infinities and NaN too) or is within its tolerance.
    """

    inputs: tuple[Array, ...]
    expected: Array
    tolerance: Array
