"""A step to text: the sections ``coarse`` to ``rank`` in canonical form (rules S1 to S13)."""

from collections.abc import Iterator, Sequence

from formwright.base.source import Span
from formwright.ir.expr import ZERO
from formwright.ir.show import show_conjunct, show_expr, show_term
from formwright.ir.system import (
    Action,
    Call,
    Clause,
    Index,
    Invariant,
    Let,
    Match,
    Pick,
    RankTerm,
    Refinement,
    StateVar,
    System,
    Total,
    Update,
)
from formwright.lang.format_lines import WIDTH, Section, TextLine, line, quoted


def step_sections(step: Refinement) -> list[Section]:
    """The sections of a step in their order, empty ones left out."""
    actions = {a.name: a for a in step.fine.actions}
    rows: tuple[tuple[str, list[TextLine]], ...] = (
        (
            "relation",
            [
                *(line(f"  {_invariant(i)}", i.span) for i in step.relation),
                *(line(f"  {_total(t)}", t.span) for t in step.totals),
            ],
        ),
        ("match", [line(f"  {_match(m, actions)}", m.span) for m in step.matches]),
        ("progress", [line(f"  {_pick(p)}", p.span) for p in step.picks]),
        ("rank", [line(f"  {_term(t)}", t.span) for t in step.rank]),
    )
    return [
        ("coarse", system_lines("coarse", step.coarse)),
        ("fine", system_lines("fine", step.fine)),
        *((word, [TextLine(word), *found]) for word, found in rows if found),
    ]


def system_lines(word: str, system: System) -> list[TextLine]:
    """The block of one system; ``word`` is ``coarse`` or ``fine``."""
    found = [line(f"{word} {system.name}", system.span)]
    found.extend(_tokens(system.tokens))
    found.extend(_state(system.state))
    found.extend(line(f"  {_let(d)}", d.span) for d in system.lets)
    found.extend(line(f"  assume {a.name} {quoted(a.text)}", a.span) for a in system.assumptions)
    for action in system.actions:
        found.extend(_action(action))
    found.append(line(f"  final {show_expr(system.final)}", system.final.span))
    result = ", ".join(map(show_expr, system.result))
    found.append(line(f"  result {result}", system.result[0].span if system.result else None))
    found.extend(line(f"  rank {_term(t)}", t.span) for t in system.rank)
    return found


def _index(index: Index) -> str:
    if index.lo is None or index.hi is None:
        return f"{index.name} any"
    hi = show_term(index.hi)
    if index.lo == ZERO:
        return f"{index.name} in {hi}"
    return f"{index.name} in {show_term(index.lo)} .. {hi}"


def _indices(indices: Sequence[Index]) -> str:
    return ", ".join(map(_index, indices))


def _tokens(tokens: Sequence[Index]) -> Iterator[TextLine]:
    """As many on a line as fit."""
    text = ""
    span: Span | None = None
    for token in tokens:
        item = _index(token)
        if text and len(text) + 2 + len(item) > WIDTH:
            yield line(text, span)
            text = ""
        text = f"{text}, {item}" if text else f"  token {item}"
        span = token.span
    if text:
        yield line(text, span)


def _state(state: Sequence[StateVar]) -> Iterator[TextLine]:
    heads = [v.name + (f"[{_index(v.index)}]" if v.index else "") for v in state]
    width = max(map(len, heads), default=0)
    for head, var in zip(heads, state, strict=True):
        sort: str = var.sort
        if var.lo is not None and var.hi is not None:
            sort = f"{show_term(var.lo)} .. {show_term(var.hi)}"
        yield line(f"  var {head:<{width}} : {sort} = {show_expr(var.initial)}", var.span)


def _let(let: Let) -> str:
    indices = f"[{', '.join(let.indices)}]" if let.indices else ""
    return f"let {let.name}{indices} = {show_expr(let.value)}"


def _clause(clause: Clause) -> str:
    condition = show_expr(clause.condition)
    return f"forall {_indices(clause.forall)}: {condition}" if clause.forall else condition


def _guards(guards: Sequence[Clause]) -> list[tuple[str, Span | None]]:
    """Guards as the lines hold them: a plain one and a ``forall`` behind it share one."""
    found: list[tuple[str, Span | None]] = []
    at = 0
    while at < len(guards):
        after = guards[at + 1] if at + 1 < len(guards) else None
        if not guards[at].forall and after is not None and after.forall:
            text = f"{show_conjunct(guards[at].condition)} and {_clause(after)}"
            found.append((text, guards[at].span))
            at += 2
        else:
            found.append((_clause(guards[at]), guards[at].span))
            at += 1
    return found


def _action(action: Action) -> Iterator[TextLine]:
    guards = _guards(action.guards)
    head = f"  {'environment' if action.environment else 'action'} {action.name}"
    if action.params:
        head += f"({_indices(action.params)})"
    emits = f" emits {', '.join(map(show_expr, action.emits))}" if action.emits else ""
    inside: list[TextLine] = []
    if guards:
        head += f" when {guards[0][0]}"
        inside = [line(f"    when {text}", span) for text, span in guards[1:]]
    inside.extend(line(f"    {_update(u)}", u.span) for u in action.updates)
    yield line(f"{head}{emits}{':' if inside else ''}", action.span)
    yield from inside


def _update(update: Update) -> str:
    place = update.name
    if update.each is not None:
        place += f"[{update.each} for all]"
    elif update.index is not None:
        place += f"[{show_expr(update.index)}]"
    return f"{place} := {show_expr(update.value)}"


def _invariant(invariant: Invariant) -> str:
    return f"{invariant.name}: {_clause(invariant.clause)}"


def _total(total: Total) -> str:
    return f"total {total.name} = sum({_index(total.over)}) {show_term(total.value)}"


def _match(match: Match, actions: dict[str, Action]) -> str:
    params = [p.name for p in actions[match.action].params]
    head = match.action + (f"({', '.join(params)})" if params else "")
    if match.when is not None:
        head += f" when {show_expr(match.when)}"
    return f"{head}: {'; '.join(map(_call, match.calls)) or 'none'}"


def _call(call: Call) -> str:
    return call.action + (f"({', '.join(map(show_expr, call.args))})" if call.args else "")


def _pick(pick: Pick) -> str:
    return f"pick {_index(pick.over)} {pick.kind} {show_term(pick.value)}"


def _term(term: RankTerm) -> str:
    value = show_term(term.value)
    return f"sum({_indices(term.over)}) {value}" if term.over else value
