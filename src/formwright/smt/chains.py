"""Chains: how a term of an output cell comes from the inputs, in the textual order.

A read of storage is the sum of what its writers wrote (rule P3 and the theorem of
``docs/program-rules.md``): each writer is one way on. A chain is one choice of ways, from an
assignment or accumulation of the output, or of a buffer that keeps a stage, to a product of
cells of inputs and stages.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from formwright.ir.expr import Expr
from formwright.ir.program import Access
from formwright.smt.atoms import Atoms
from formwright.smt.encode import number, truth
from formwright.smt.forms import (
    Factor,
    Form,
    Function,
    Leaf,
    Term,
    factor_skeleton,
    functions,
    leaves,
)
from formwright.smt.instances import (
    Cell,
    Instance,
    cell,
    guards,
    same_generation,
    same_index,
    team_names,
)
from formwright.smt.lost import Lost
from formwright.smt.targets import Stages
from formwright.smt.terms import FALSE, TRUE, ZERO, Formula, Poly, conj, lt, negated
from formwright.smt.writers import manned, owner_range


@dataclass(frozen=True, slots=True)
class Step:
    """A run of the chain; ``reader`` is the number of the step that reads ``access`` of it."""

    instance: Instance
    reader: int | None = None
    access: Access | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """``factors`` are cells, with the step that reads them, and functions of such.

    ``branches`` are the sides of sums that were taken: two sides are two terms even when the
    same runs compute them. ``value`` is what is compared, in place of the product, where the
    chain is one of a maximum. ``rank`` counts the branches of its statement with such products.
    ``lost``: products on its way whose other side may be empty.
    """

    steps: tuple[Step, ...]
    factors: tuple[Factor, ...] = ()
    selects: tuple[tuple[int, Expr, bool], ...] = ()
    coefficient: Fraction = Fraction(1)
    branches: tuple[tuple[int, str], ...] = ()
    value: Form | None = None
    rank: int = 0
    lost: tuple[Lost, ...] = ()

    @property
    def form(self) -> Form:
        """What the chain brings to its cell."""
        if self.value is not None:
            return self.value
        return (Term(self.coefficient, tuple(sorted(self.factors, key=factor_skeleton))),)

    def substituted(self, values: Mapping[str, Poly]) -> "Chain":
        def put(run: Instance) -> Instance:
            return Instance(run.site, {n: p.substituted(values) for n, p in run.env.items()})

        return replace(self, steps=tuple(replace(s, instance=put(s.instance)) for s in self.steps))

    def open_symbols(self) -> list[str]:
        """What no equation fixed, outermost first; owners are not among them."""
        owners = {n for s in self.steps for n in _owner_symbols(s.instance)}
        found: dict[str, None] = {}
        for step in self.steps:
            for frame in step.instance.site.frames:
                for name in frame.binds():
                    mine = sorted(n for n in step.instance.env[name].symbols() if "@" in n)
                    found.update(dict.fromkeys(n for n in mine if n not in owners))
        return list(found)


def _owner_symbols(run: Instance) -> Iterator[str]:
    for name in team_names(run.site):
        yield from run.env[name].symbols()


def target(chain: Chain, atoms: Atoms) -> Cell:
    """The cell that a chain ends in."""
    run = chain.steps[0].instance
    return cell(run, run.site.apply.destination, atoms)


def leaf_place(leaf: Leaf, chain: Chain, stages: Stages, atoms: Atoms) -> tuple[Poly, ...]:
    """The indices of a leaf: of the input's cell, or of the stage's; an index is its value."""
    run = chain.steps[leaf.step].instance
    if leaf.value is not None:
        return (number(leaf.value, run.env, atoms),)
    assert leaf.access is not None
    made = cell(run, leaf.access, atoms)
    return stages.place(run, leaf.access, made.index, atoms)


def leaf_places(chain: Chain, stages: Stages, atoms: Atoms) -> list[tuple[Poly, ...]]:
    """The indices of every leaf, in the order that equal skeletons share."""
    return [leaf_place(leaf, chain, stages, atoms) for leaf in leaves(chain.form)]


def step_conditions(chain: Chain, number: int, atoms: Atoms) -> tuple[Formula, list[Formula]]:
    """What makes step ``number`` happen, and what is known of who owns it."""
    step = chain.steps[number]
    run, team = step.instance, step.instance.site.team
    destination = run.site.apply.destination
    made = cell(run, destination, atoms)
    found = [made.inside] if destination.clip else []
    owner: list[Formula] = []
    if team is None:
        found += guards(run, atoms)
    else:
        owner = owner_range(run, atoms)
        found += guards(run, atoms, 0, team) + guards(run, atoms, team + 1, roles=False)
        found += manned(run, atoms)
    if step.reader is not None and step.access is not None:
        wanted = cell(chain.steps[step.reader].instance, step.access, atoms)
        found += [same_generation(made, wanted), same_index(made, wanted)]
    for at, cond, polarity in chain.selects:
        if at == number:
            holds = truth(cond, run.env, atoms)
            found.append(holds if polarity else negated(holds))
    return conj(found), owner


def accumulating(chain: Chain) -> list[int]:
    """The output step and the accumulations on the way: what can happen twice."""
    return [n for n, s in enumerate(chain.steps) if n == 0 or s.instance.site.apply.op != "="]


def insides(chain: Chain, atoms: Atoms) -> list[Formula]:
    """Its clipped reads are inside."""
    found: list[Formula] = []
    for leaf in leaves(chain.form):
        if leaf.access is not None and leaf.access.clip:
            found.append(cell(chain.steps[leaf.step].instance, leaf.access, atoms).inside)
    return found


def vanishes(chain: Chain) -> bool:
    """Whether a clipped read outside makes the term 0, so that it is no term.

    Not where a function of what is read stands in it: ``exp(0)`` is 1, and 0 times what has no
    value is no number. Not in a maximum: 0 is a value there.
    """
    return chain.value is None and all(map(_is_number, functions(chain.form)))


def _is_number(function: Function) -> bool:
    """A root or a reciprocal of indices alone, such as a scale ``rsqrt(index(D))``."""
    known = function.name in ("sqrt", "reciprocal")
    return known and all(leaf.value is not None for a in function.args for leaf in leaves(a))


def scales(chain: Chain, atoms: Atoms) -> list[Formula]:
    """What makes the scales of a term that vanishes positive numbers."""
    found: list[Formula] = []
    for function in functions(chain.form):
        if _is_number(function):
            found += [_positive(a, chain, atoms) for a in function.args]
    return found


def _positive(form: Form, chain: Chain, atoms: Atoms) -> Formula:
    """A sum of positive products is positive; nothing else is looked for."""
    found: list[Formula] = [TRUE if form else FALSE]
    for term in form:
        found.append(TRUE if term.coefficient > 0 else FALSE)
        for factor in term.factors:
            if isinstance(factor, Leaf) and factor.value is not None:
                env = chain.steps[factor.step].instance.env
                found.append(lt(ZERO, number(factor.value, env, atoms)))
    return conj(found)


def happens(chain: Chain, atoms: Atoms) -> list[Formula]:
    """What makes the runs of a chain happen."""
    parts = [step_conditions(chain, n, atoms) for n in range(len(chain.steps))]
    return [f for valid, owner in parts for f in (valid, *owner)]


def still_happens(chain: Chain, lost: Lost, atoms: Atoms) -> list[Formula]:
    """What makes the runs happen that do so where the other side of a product is empty."""
    bare = replace(chain, selects=lost.selects)
    parts = [step_conditions(bare, n, atoms) for n in lost.steps]
    return [f for valid, owner in parts for f in (valid, *owner)]


def way_to(chain: Chain, number: int) -> list[int]:
    """The steps that read one another, from the output's to step ``number``."""
    found = [number]
    while (reader := chain.steps[found[0]].reader) is not None:
        found.insert(0, reader)
    return found


def chain_conditions(chain: Chain, atoms: Atoms) -> list[Formula]:
    """Everything that makes a chain a term, owners included."""
    facts = happens(chain, atoms)
    return facts + insides(chain, atoms) if vanishes(chain) else facts
