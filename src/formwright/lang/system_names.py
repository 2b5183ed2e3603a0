"""One transition system with every name checked (rules S3 to S9)."""

from formwright.base.source import Span
from formwright.ir.expr import TRUE, Expr
from formwright.ir.system import Action, Index, Let, StateVar, System, Update
from formwright.lang.checks import Checks
from formwright.lang.draft import RawSystem
from formwright.lang.names import Kind, Names, Symbol
from formwright.lang.systems import SYSTEM_WORDS


class SystemResolver:
    """``tokens`` and ``values`` (state variables, definitions) are kept for the relation.

    ``results`` says in words what each value of the result is.
    """

    def __init__(self, raw: RawSystem, names: Names) -> None:
        self.raw = raw
        self.names, self.faults = names, names.faults
        self.checks = Checks(names)
        self.tokens: dict[str, Symbol] = {}
        self.values: dict[str, Symbol] = {}
        self.results: list[str] = []

    def system(self) -> System:
        """The system. Its names hold inside only: they are out of the table afterwards."""
        raw = self.raw
        tokens = tuple(self._token(t) for t in raw.tokens)
        outer = self.names.later
        self.names.later = {v.name: "a state variable" for v in raw.state}
        self.names.later |= {d.name: "a definition of the system" for d in raw.lets}
        state = tuple(self._state(v) for v in raw.state)
        for var in raw.state:
            kind: Kind = "condition" if var.sort == "bool" else "integer"
            indices = 0 if var.index is None else 1
            symbol = Symbol("a state variable", kind, var.span, indices=indices)
            self._declare(var.name, symbol, self.values)
        lets = tuple(self._let(d) for d in raw.lets)
        self.names.later = outer
        actions = tuple(self._action(a) for a in raw.actions)
        self._unique([(a.name, a.span) for a in actions], "action")
        self._unique([(a.name, a.span) for a in raw.assumptions], "assumption")
        final, result = self._ends()
        rank = tuple(self.checks.rank_term(t) for t in raw.rank)
        for name in (*self.tokens, *self.values):
            del self.names.table[name]
        return System(
            raw.name,
            tokens,
            state,
            actions,
            final,
            result,
            tuple(raw.assumptions),
            rank,
            lets,
            raw.span,
        )

    def _declare(self, name: str, symbol: Symbol, into: dict[str, Symbol]) -> None:
        if name in SYSTEM_WORDS:
            self.faults.add(
                f'"{name}" is a word of transition systems', symbol.span, "take another name"
            )
        elif self.names.declare(name, symbol):
            into[name] = symbol

    def _unique(self, items: list[tuple[str, Span | None]], what: str) -> None:
        seen: set[str] = set()
        for name, span in items:
            if name in seen or name in SYSTEM_WORDS:
                why = "stands twice" if name in seen else "is a word of transition systems"
                self.faults.add(f'the {what} "{name}" {why}', span, "take another name")
            seen.add(name)

    def _token(self, token: Index) -> Index:
        found = self.checks.range(token)
        self._declare(token.name, Symbol("a token", "integer", token.span), self.tokens)
        return found

    def _state(self, var: StateVar) -> StateVar:
        lo = None if var.lo is None else self.checks.integer(var.lo)
        hi = None if var.hi is None else self.checks.integer(var.hi)
        indices = () if var.index is None else (var.index,)
        for index in indices:
            # It would be read as the definition where definitions are put in their places.
            if index.name in self.names.later:
                what = self.names.later[index.name]
                self.faults.add(f'"{index.name}" is {what} too', index.span, "take another name")
        with self.checks.bound(indices, "the variable's index") as over:
            check = self.checks.condition if var.sort == "bool" else self.checks.integer
            initial = check(var.initial)
        return StateVar(var.name, over[0] if over else None, var.sort, lo, hi, initial, var.span)

    def _let(self, let: Let) -> Let:
        bound = [(n, Symbol("an index", "integer", let.span)) for n in let.indices]
        with self.names.bound(bound):
            value, what = self.checks.value(let.value)
            info = self.checks.info(value)
        symbol = Symbol(
            "a definition of the system",
            "condition" if what == "a condition" else "integer",
            let.span,
            info.height,
            info.nodes,
            terms=info.terms,
            degree=info.degree,
            indices=len(let.indices),
        )
        self._declare(let.name, symbol, self.values)
        return Let(let.name, let.indices, value, let.span)

    def _action(self, action: Action) -> Action:
        with self.checks.bound(action.params, "a parameter") as params:
            guards = tuple(self.checks.clause(g) for g in action.guards)
            updates = tuple(self._update(u) for u in action.updates)
            emits = tuple(self.checks.value(e)[0] for e in action.emits)
        seen: set[str] = set()
        for update in action.updates:
            if update.name in seen:
                self.faults.add(
                    f'"{update.name}" is updated twice in one action',
                    update.span,
                    "updates happen at once: join them with if … then … else",
                )
            seen.add(update.name)
        return Action(action.name, params, guards, updates, emits, action.environment, action.span)

    def _update(self, update: Update) -> Update:
        var = next((v for v in self.raw.state if v.name == update.name), None)
        if var is None:
            self._no_variable(update)
            return update
        indexed = update.index is not None or update.each is not None
        if indexed != (var.index is not None):
            has, way = ("one index", f"{var.name}[…]") if var.index else ("no index", var.name)
            self.faults.add(f'"{var.name}" has {has}', update.span, f"write {way} := …")
        index = None if update.index is None else self.checks.integer(update.index)
        each = [] if update.each is None else [update.each]
        bound = [(n, Symbol("an index", "integer", update.span)) for n in each]
        with self.names.bound(bound):
            check = self.checks.condition if var.sort == "bool" else self.checks.integer
            value = check(update.value)
        return Update(update.name, index, value, update.each, update.span)

    def _no_variable(self, update: Update) -> None:
        symbol = self.names.table.get(update.name)
        known = [v.name for v in self.raw.state]
        if symbol is not None:
            self.faults.add(
                f'"{update.name}" is {symbol.what}: an action changes state variables',
                update.span,
            )
        else:
            self.faults.unknown("the state variable", update.name, update.span, known)

    def _ends(self) -> tuple[Expr, tuple[Expr, ...]]:
        raw = self.raw
        for word, missing in (("final", raw.final is None), ("result", raw.result is None)):
            if missing and raw.read:
                self.faults.add(
                    f'the system "{raw.name}" has no line "{word}"',
                    raw.span,
                    "write final condition" if word == "final" else "write result e, …",
                )
        final = TRUE if raw.final is None else self.checks.condition(raw.final)
        result: list[Expr] = []
        for expr in raw.result or ():
            value, what = self.checks.value(expr)
            result.append(value)
            self.results.append(what)
        return final, tuple(result)
