"""A step with every name checked (rules S3 to S13)."""

from collections.abc import Iterator

from formwright.base.source import Span
from formwright.ir.system import (
    Action,
    Call,
    Invariant,
    Match,
    Pick,
    Refinement,
    System,
    Total,
)
from formwright.lang.checks import Checks
from formwright.lang.draft import Draft, RawMatch, RawStep
from formwright.lang.faults import Faults, counted
from formwright.lang.limits import STATEMENTS
from formwright.lang.names import Names, Symbol
from formwright.lang.system_names import SystemResolver
from formwright.lang.systems import SYSTEM_WORDS

COARSE = "coarse."
"""Begins the names of coarse variables in a relation."""


def resolve_step(draft: Draft, names: Names) -> Refinement | None:
    """The step of ``draft``; None when it has none, or when faults hide it."""
    step, faults = draft.step, names.faults
    if step.coarse is None or step.fine is None:
        if step.coarse is None and step.fine is None:
            for given in draft.given[:1]:
                faults.add(
                    '"given" belongs to a step',
                    given.span,
                    "a step has the sections coarse and fine",
                )
            for word, span in step.sections:
                faults.add(
                    f'section "{word}" belongs to a step',
                    span,
                    "a step has the sections coarse and fine",
                )
        return None
    _words(names)
    _size(step, faults)
    for word, system, level in (
        ("coarse", step.coarse, draft.coarse),
        ("fine", step.fine, draft.fine),
    ):
        if system.name and level and system.name != level:
            faults.add(
                f'the {word} system is "{system.name}", and the first line says "{level}"',
                system.span,
                f"write {word} {level}",
            )
    coarse = SystemResolver(step.coarse, names)
    top = coarse.system()
    fine = SystemResolver(step.fine, names)
    bottom = fine.system()
    _same_result(coarse, fine, faults)
    return _StepResolver(step, (coarse, top), (fine, bottom), names).refinement()


def _words(names: Names) -> None:
    for name, symbol in names.table.items():
        if name in SYSTEM_WORDS:
            names.faults.add(
                f'"{name}" is a word of transition systems', symbol.span, "take another name"
            )


def _size(step: RawStep, faults: Faults) -> None:
    count = len(step.relation) + len(step.totals) + len(step.matches) + len(step.picks)
    for system in (step.coarse, step.fine):
        if system is not None:
            count += len(system.tokens) + len(system.state) + len(system.lets)
            count += sum(1 + len(a.guards) + len(a.updates) for a in system.actions)
    if count > STATEMENTS:
        span = None if step.fine is None else step.fine.span
        faults.add(f"a step has at most {STATEMENTS} lines, not {count}", span)


def _same_result(coarse: SystemResolver, fine: SystemResolver, faults: Faults) -> None:
    if coarse.raw.result is None or fine.raw.result is None:
        return
    if len(coarse.results) != len(fine.results):
        faults.add(
            f"the coarse result has {counted(len(coarse.results), 'value')}, "
            f"the fine one {len(fine.results)}",
            fine.raw.result[0].span,
            "both systems compute the same values, in the same order",
        )
        return
    for first, second, expr in zip(coarse.results, fine.results, fine.raw.result, strict=True):
        if first != second:
            faults.add(f"the coarse result is {first} here, and this is {second}", expr.span)


class _StepResolver:
    """What relates the two systems; coarse variables are called ``coarse.NAME`` here."""

    def __init__(
        self,
        step: RawStep,
        coarse: tuple[SystemResolver, System],
        fine: tuple[SystemResolver, System],
        names: Names,
    ) -> None:
        self.step = step
        self.names, self.faults = names, names.faults
        self.checks = Checks(names)
        self.coarse_names, self.coarse = coarse
        self.fine_names, self.fine = fine

    def refinement(self) -> Refinement:
        self._same_tokens()
        with self.names.bound(self._fine_symbols()):
            picks = tuple(self._pick(p) for p in self.step.picks)
            self._unique([(p.name, p.span) for p in picks], "pick")
            totals = tuple(self._total(t) for t in self.step.totals)
            self._unique([(t.name, t.span) for t in totals], "total")
            with self.names.bound(self._coarse_symbols()):
                relation = tuple(self._invariant(i) for i in self.step.relation)
                self._unique([(i.name, i.span) for i in relation], "clause")
                matches = tuple(self._matches())
                rank = tuple(self.checks.rank_term(t) for t in self.step.rank)
        span = None if self.step.coarse is None else self.step.coarse.span
        return Refinement(self.coarse, self.fine, relation, totals, matches, picks, rank, span)

    def _same_tokens(self) -> None:
        known = {t.name: t for t in self.coarse.tokens}
        variables = {v.name for v in self.coarse.state}
        for token in self.fine.tokens:
            if token.name in variables:
                self.faults.add(
                    f'the token "{token.name}" is called like a variable of the coarse system',
                    token.span,
                    "take another name",
                )
            other = known.get(token.name)
            if other is not None and other != token:
                self.faults.add(
                    f'the token "{token.name}" has another range in the coarse system',
                    token.span,
                    "one token has one range; call another one by another name",
                )

    def _fine_symbols(self) -> list[tuple[str, Symbol]]:
        found = {**self.coarse_names.tokens, **self.fine_names.tokens}
        return [*found.items(), *self.fine_names.values.items()]

    def _coarse_symbols(self) -> list[tuple[str, Symbol]]:
        return [(COARSE + name, symbol) for name, symbol in self.coarse_names.values.items()]

    def _unique(self, items: list[tuple[str, Span | None]], what: str) -> None:
        seen: set[str] = set()
        for name, span in items:
            if name in seen:
                self.faults.add(f'the {what} "{name}" stands twice', span, "take another name")
            seen.add(name)

    def _invariant(self, invariant: Invariant) -> Invariant:
        return Invariant(invariant.name, self.checks.clause(invariant.clause), invariant.span)

    def _total(self, total: Total) -> Total:
        known = [v.name for v in self.fine.state if v.sort == "int" and v.index is None]
        if total.name not in known:
            self.faults.unknown("the integer variable", total.name, total.span, known)
        with self.checks.bound((total.over,), "the name of a sum") as (over,):
            value = self.checks.integer(total.value)
        return Total(total.name, over, value, total.span)

    def _pick(self, pick: Pick) -> Pick:
        with self.checks.bound((pick.over,), "a pick") as (over,):
            value = self.checks.integer(pick.value)
        return Pick(pick.name, pick.kind, over, value, pick.span)

    def _matches(self) -> Iterator[Match]:
        fine = {a.name: a for a in self.fine.actions}
        settled: set[str] = set()
        for raw in self.step.matches:
            match = raw.match
            action = fine.get(match.action)
            if action is None:
                self.faults.unknown("the fine action", match.action, match.span, fine)
                continue
            if match.action in settled:
                self.faults.add(
                    f'this line is never reached: one above holds for every "{match.action}"',
                    match.span,
                )
            if match.when is None:
                settled.add(match.action)
            self._params(raw, action)
            yield self._match(match, action)

    def _params(self, raw: RawMatch, action: Action) -> None:
        wanted = [p.name for p in action.params]
        if [name for name, _ in raw.params] != wanted:
            shown = f"{action.name}({', '.join(wanted)})" if wanted else action.name
            self.faults.add(
                f'the parameters of "{action.name}" are named as in its action',
                raw.match.span,
                f"write {shown}",
            )

    def _match(self, match: Match, action: Action) -> Match:
        bound = [(p.name, Symbol("a parameter", "integer", p.span)) for p in action.params]
        with self.names.bound(bound):
            when = None if match.when is None else self.checks.condition(match.when)
            calls = tuple(self._call(c) for c in match.calls)
        return Match(match.action, when, calls, match.span)

    def _call(self, call: Call) -> Call:
        args = tuple(self.checks.integer(a) for a in call.args)
        known = {a.name: a for a in self.coarse.actions}
        action = known.get(call.action)
        if action is None:
            self.faults.unknown("the coarse action", call.action, call.span, known)
        elif len(action.params) != len(args):
            has = counted(len(action.params), "parameter")
            self.faults.add(f'"{call.action}" has {has}, not {len(args)}', call.span)
        return Call(call.action, args, call.span)
