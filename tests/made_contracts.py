"""Contracts that no operator has: lines that a specification must cope with all the same."""

from collections.abc import Sequence

from formwright.contract.contract import Contract, Extent, Operand

Tensors = Sequence[tuple[str, tuple[str, ...]]]


def made(
    formula: Sequence[str], extents: Sequence[tuple[str, int]], inputs: Tensors, output: str
) -> Contract:
    """``extents`` with their least values; the output's shape stands in the first line."""
    first = formula[0].partition("[")[2].partition("]")[0]
    shape = tuple(e.strip() for e in first.split(","))
    operands = [Operand(n, e, "input") for n, e in inputs] + [Operand(output, shape, "output")]
    ranges = tuple(Extent(n, low, 1 << 20) for n, low in extents)
    return Contract("made", tuple(formula), ranges, tuple(operands))


MADE = {
    "columns": made(
        ["y[N] = sum(k < K) x[k] * W[k,N]"],
        [("N", 1), ("K", 0)],
        [("x", ("K",)), ("W", ("K", "N"))],
        "y",
    ),
    "elementwise": made(["y[N] = a[N] * a[N] + 1"], [("N", 1)], [("a", ("N",))], "y"),
    "largest": made(["y[R] = max(c < C) X[R,c]"], [("R", 1), ("C", 1)], [("X", ("R", "C"))], "y"),
    "two_reductions": made(
        ["Y[M,N] = sum(k < K, l < L) A[M,k,l] * B[k,l,N]"],
        [("M", 1), ("N", 1), ("K", 0), ("L", 0)],
        [("A", ("M", "K", "L")), ("B", ("K", "L", "N"))],
        "Y",
    ),
    "neighbours": made(
        ["Y[R,C] = p[R,(c + 1) mod C] - p[R,C]", "p[R,C] = X[R,C] * X[R,C]"],
        [("R", 1), ("C", 1)],
        [("X", ("R", "C"))],
        "Y",
    ),
    "turned": made(
        ["Y[M,N] = p[N,M] * p[N,M]", "p[N,M] = sum(k < K) A[M,k] * B[N,k]"],
        [("M", 1), ("N", 1), ("K", 0)],
        [("A", ("M", "K")), ("B", ("N", "K"))],
        "Y",
    ),
    "window": made(
        [
            "Y[T,D] = sum(j < T) select(j + 4 > t and j <= t, w[T,j] * V[j,D], 0)",
            "w[T,u < T] = sum(d < D) Q[T,d] * V[u,d]",
        ],
        [("T", 1), ("D", 1)],
        [("Q", ("T", "D")), ("V", ("T", "D"))],
        "Y",
    ),
    "for_all_batches": made(
        ["Y[B,M,N] = sum(k < K) h[M,k] * W[B,k,N]", "h[M,K] = X[M,K] * X[M,K]"],
        [("B", 1), ("M", 1), ("N", 1), ("K", 0)],
        [("X", ("M", "K")), ("W", ("B", "K", "N"))],
        "Y",
    ),
    "taken_names": made(
        [
            "acc_s[M,N] = s[M,N] + m[M]",
            "s[M,N] = sum(m_of < K) grid_[M,m_of] * n2[m_of,N]",
            "m[M] = max(x < N) s[M,x]",
        ],
        [("M", 1), ("N", 1), ("K", 1)],
        [("grid_", ("M", "K")), ("n2", ("K", "N"))],
        "acc_s",
    ),
    "rows_and_columns": made(
        [
            "Y[R,C] = X[R,C] / z[R] - q[C]",
            "z[R] = sum(c < C) X[R,c] * X[R,c] + 1",
            "q[C] = sum(r < R) X[r,C]",
        ],
        [("R", 1), ("C", 1)],
        [("X", ("R", "C"))],
        "Y",
    ),
    "causal_largest": made(
        ["m[T,D] = max(j < T) select(j <= t, X[j,D], X[0,D])"],
        [("T", 1), ("D", 1)],
        [("X", ("T", "D"))],
        "m",
    ),
    "largest_or_own": made(
        ["m[T,D] = max(j < T) select(j <= t, X[j,D], X[T,D])"],
        [("T", 1), ("D", 1)],
        [("X", ("T", "D"))],
        "m",
    ),
}
