"""Proofs as a graph: definitions, assumptions, statements, proofs, each named by its content.

A node names others by their digests only, and only those that are there: so the graph has no
cycle. Two rules are checked whenever a proof is added or carried over.

*Theorem 2.* A proof is accepted only if each of its premises is an assumption, or a statement
that has an accepted proof. Nothing is accepted on a premise that is not itself accepted.

*Corollary 1.* Where premises were only strengthened and all else is equal by digest, one
statement (the new premises imply the old ones), once it is accepted, keeps every proof.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

Digest = str


@dataclass(frozen=True, slots=True)
class Definition:
    """What words mean: a slice of a program, a workload, a system; ``body`` is its content."""

    body: str


@dataclass(frozen=True, slots=True)
class Assumption:
    """What is taken for true: a condition of the scope, a menu, an arbitration."""

    body: str


@dataclass(frozen=True, slots=True)
class Statement:
    """``body`` about ``definitions``: true where ``premises`` (assumptions, statements) are."""

    body: str
    definitions: tuple[Digest, ...] = ()
    premises: tuple[Digest, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a statement holds: ``cores`` by name, and the premises that they use.

    ``uses`` are among the premises of the statement; they are read from the cores, never
    declared. ``solver`` says who showed the cores.
    """

    statement: Digest
    uses: tuple[Digest, ...] = ()
    cores: tuple[Digest, ...] = ()
    solver: str = ""


Node = Definition | Assumption | Statement | Proof


class UnacceptedPremiseError(ValueError):
    """A proof rests on a statement that has no accepted proof (Theorem 2)."""


class UnknownNodeError(ValueError):
    """A node names one that is not in the graph, or one of the wrong kind."""


@dataclass(slots=True)
class Graph:
    """Nodes by digest, and which statements are accepted."""

    nodes: dict[Digest, Node] = field(default_factory=dict)
    accepted: dict[Digest, Digest] = field(default_factory=dict)
    """Statements with the proof that was accepted."""

    def add(self, node: Node) -> Digest:
        """The name of the node; raises for names that are not there, and for Theorem 2."""
        self._check(node)
        name = hashlib.sha256(repr(node).encode()).hexdigest()
        self.nodes[name] = node
        if isinstance(node, Proof):
            self.accepted.setdefault(node.statement, name)
        return name

    def open_premises(self, names: Iterable[Digest]) -> list[Digest]:
        """Those that are statements without an accepted proof."""
        return [n for n in names if isinstance(self.nodes[n], Statement) and n not in self.accepted]

    def strengthened(
        self, old: Digest, premises: tuple[Digest, ...], implied: Mapping[Digest, Digest]
    ) -> Digest:
        """Corollary 1: the statement ``old`` under other premises, its proof kept.

        Each premise that the proof uses must be there again, or be ``implied``: by a statement
        that is accepted, says just that premise, and rests on the new premises alone. Raises
        :class:`UnacceptedPremiseError` where one is missing.
        """
        statement, proof = self._proved(old)
        uses: list[Digest] = []
        for used in proof.uses:
            if used in premises:
                uses.append(used)
                continue
            stands_for = implied.get(used)
            if stands_for is None or not self._says(stands_for, used, premises):
                raise UnacceptedPremiseError(f"the premise {used[:12]} does not follow")
            uses.append(stands_for)
        whole = tuple(dict.fromkeys((*premises, *uses)))
        name = self.add(Statement(statement.body, statement.definitions, whole))
        self.add(Proof(name, tuple(uses), proof.cores, proof.solver))
        return name

    def rests_on(self, statement: Digest) -> frozenset[Digest]:
        """The assumptions that an accepted statement rests on in the end."""
        found: set[Digest] = set()
        queue, seen = [statement], set[Digest]()
        while queue:
            name = queue.pop()
            if name in seen:
                continue
            seen.add(name)
            if isinstance(self.nodes[name], Assumption):
                found.add(name)
            else:
                queue += self._proved(name)[1].uses
        return frozenset(found)

    def _says(self, name: Digest, premise: Digest, premises: tuple[Digest, ...]) -> bool:
        node, wanted = self.nodes.get(name), self.nodes[premise]
        return (
            isinstance(node, Statement)
            and name in self.accepted
            and isinstance(wanted, Assumption | Statement)
            and node.body == wanted.body
            and set(node.premises) <= set(premises)
        )

    def _proved(self, name: Digest) -> tuple[Statement, Proof]:
        node, by = self.nodes.get(name), self.accepted.get(name)
        proof = None if by is None else self.nodes[by]
        if not isinstance(node, Statement) or not isinstance(proof, Proof):
            raise UnacceptedPremiseError(f"{name[:12]} is no accepted statement")
        return node, proof

    def _check(self, node: Node) -> None:
        match node:
            case Definition() | Assumption():
                return
            case Statement(_, definitions, premises):
                self._know(definitions, lambda n: isinstance(n, Definition))
                self._know(premises, lambda n: isinstance(n, Assumption | Statement))
            case Proof(statement, uses):
                self._know((statement,), lambda n: isinstance(n, Statement))
                claimed = self.nodes[statement]
                assert isinstance(claimed, Statement)
                stray = set(uses) - set(claimed.premises)
                if stray:
                    raise UnknownNodeError(f"{min(stray)[:12]} is no premise of the statement")
                missing = self.open_premises(uses)
                if missing:
                    raise UnacceptedPremiseError(f"{missing[0][:12]} has no accepted proof")

    def _know(self, names: Iterable[Digest], fits: Callable[[Node], bool]) -> None:
        for name in names:
            if name not in self.nodes or not fits(self.nodes[name]):
                raise UnknownNodeError(f"{name[:12]} is not in the graph as such")
