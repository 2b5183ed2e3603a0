"""A graph as rows in which parents stand above: where each row's lines run.

As in a history of versions, a node stands in one of a few lanes, and keeps its lane open until
its last child has come. Rows may be as high as their words need; the lines need no room.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from formwright.report.page import Node


@dataclass(frozen=True, slots=True)
class Row:
    """A node in its lane. ``passing`` lanes run through; ``joins`` are lanes of its parents, and
    whether each of them runs on; ``opens``: its own lane runs on to children."""

    node: Node
    lane: int
    passing: tuple[int, ...]
    joins: tuple[int, ...]
    opens: bool


def rows_of(nodes: Sequence[Node]) -> tuple[tuple[Row, ...], int]:
    """Rows with parents above children, and how many lanes there are.

    Parents that no node is, and those that would come below their child, are no lines.
    """
    ordered = _ordered(nodes)
    at = {node.key: n for n, node in enumerate(ordered)}
    parents = [
        tuple(p for p in dict.fromkeys(n.parents) if p in at and at[p] < at[n.key]) for n in ordered
    ]
    left = {node.key: 0 for node in ordered}
    for row in parents:
        for parent in row:
            left[parent] += 1
    lanes: list[str | None] = []
    rows = []
    for node, above in zip(ordered, parents, strict=True):
        joins = tuple(lanes.index(p) for p in above)
        for parent in above:
            left[parent] -= 1
        closed = [lane for lane, parent in zip(joins, above, strict=True) if left[parent] == 0]
        for lane in closed:
            lanes[lane] = None
        passing = tuple(n for n, key in enumerate(lanes) if key is not None)
        lane = closed[0] if closed else _vacant(lanes)
        opens = left[node.key] > 0
        lanes[lane] = node.key if opens else None
        rows.append(Row(node, lane, passing, joins, opens))
    return tuple(rows), len(lanes)


def _vacant(lanes: list[str | None]) -> int:
    if None in lanes:
        return lanes.index(None)
    lanes.append(None)
    return len(lanes) - 1


def _ordered(nodes: Sequence[Node]) -> list[Node]:
    """Depth first; a node comes once all its parents have, as far as these do not go in circles."""
    first: dict[str, Node] = {}
    for node in nodes:
        first.setdefault(node.key, node)
    children: dict[str, list[str]] = {key: [] for key in first}
    waits = dict.fromkeys(first, 0)
    for node in first.values():
        for parent in dict.fromkeys(node.parents):
            if parent in first and parent != node.key:
                children[parent].append(node.key)
                waits[node.key] += 1
    found: dict[str, Node] = {}
    rest = list(first)
    stack = [key for key in reversed(rest) if waits[key] == 0]
    while len(found) < len(first):
        if not stack:
            # A circle: its first member comes without the parents that wait for it.
            stack.append(next(key for key in rest if key not in found))
        key = stack.pop()
        if key in found:
            continue
        found[key] = first[key]
        for child in reversed(children[key]):
            waits[child] -= 1
            if waits[child] <= 0 and child not in found:
                stack.append(child)
    return list(found.values())
