"""Templates to text: ``parse(format_template(t)) == t`` for every parsed template."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import assert_never

from formwright.ir.expr import Var
from formwright.ir.program import (
    Alloc,
    Apply,
    Buffer,
    For,
    If,
    Index,
    Literal,
    Op,
    Par,
    Read,
    Select,
    Stmt,
    Value,
)
from formwright.ir.show import (
    show_apply,
    show_expr,
    show_list,
    show_number,
    show_stmt,
    show_value,
)
from formwright.ir.template import (
    Constraint,
    Cost,
    Decision,
    Definition,
    Outline,
    Parameter,
    Realised,
    Scope,
    Template,
    Workload,
)
from formwright.lang.boxes import agreed_box, free_places
from formwright.lang.format_lines import WIDTH, Section, TextLine, line, quoted
from formwright.lang.format_steps import step_sections
from formwright.lang.structures import structure_lines


def format_template(template: Template) -> str:
    """Canonical text. A template that no file can hold (rewritten numbers) is shown readably."""
    blocks = ("\n".join(line.text for line in lines) for _, lines in sections(template))
    return "\n\n".join(blocks) + "\n"


def sections(template: Template) -> list[Section]:
    """The sections of the text in their order, empty ones left out."""
    t = template
    found: list[Section] = [
        ("template", [line(f"template {t.name} : {t.coarse} -> {t.fine}", t.span)])
    ]
    if t.object_name:
        found.append(("object", _indented([f"object {t.object_name}"], [quoted(t.object_text)])))
    found.append(("scope", [TextLine("scope"), *_scope(t.scope)]))
    if t.decisions:
        found.append(("decisions", [TextLine("decisions"), *_decisions(t.decisions)]))
    if t.definitions:
        found.append(("where", [TextLine("where"), *_definitions(t.definitions)]))
    if t.constraints:
        found.append(("constraints", [TextLine("constraints"), *_constraints(t.constraints)]))
    if t.requires:
        rows = [line(f"  {r.name}: {show_expr(r.condition)}", r.span) for r in t.requires]
        found.append(("requires", [TextLine("requires"), *rows]))
    if t.formulation:
        found.append(("formulation", [TextLine(f"formulation {quoted(t.formulation)}")]))
    elif t.refinement is None:
        found.append(("program", [TextLine("program"), *_Program(t).lines()]))
    else:
        found.extend(step_sections(t.refinement))
    if t.realised:
        found.append(("realise", [TextLine("realise"), *map(_realised, t.realised)]))
    outline = _outline(t.outline)
    if outline:
        found.append(("outline", outline))
    if t.cost is not None:
        found.append(("cost", _cost(t.cost)))
    if t.structures:
        found.append(("structures", list(structure_lines(t.structures))))
    return found


def _indented(head: list[str], rows: list[str]) -> list[TextLine]:
    return [TextLine(text) for text in chain(head, (f"  {row}" for row in rows))]


def _scope(scope: Scope) -> Iterator[TextLine]:
    workload = scope.workload
    yield line(f"  workload  {workload_text(workload)}", workload.span)
    for stage in scope.stages:
        yield line(f"  stage     {workload_text(stage)}", stage.span)
    yield from _parameters("extents", scope.extents)
    yield from _parameters("agents", scope.agents)
    yield from _parameters("given", scope.given)
    yield from _parameters("chip", scope.chip)
    for relation in scope.relations:
        yield line(f"  where     {show_expr(relation)}", relation.span)
    typed = [t for t in (*workload.inputs, workload.output) if t.dtype != "f32" or t.also]
    if typed:
        texts = (f"{t.name} {' | '.join((t.dtype, *t.also))}" for t in typed)
        yield TextLine("  dtypes    " + ", ".join(texts))
    if scope.semantics:
        yield TextLine(f"  semantics {quoted(scope.semantics)}")
    if scope.structure:
        yield TextLine(f"  structure {quoted(scope.structure)}")


def workload_text(workload: Workload) -> str:
    """``C[M,N] = sum(k < K) A[M,k] * B[k,N]``, of a workload or a stage."""
    places = list(zip(workload.indices, workload.output.extents, strict=True))
    named = [f"{i} < {e}" if i != e.lower() else e for i, e in places]
    output = f"{workload.output.name}[{(', ' if ' ' in ''.join(named) else ',').join(named)}]"
    extents = {i: e for i, e in places if i == e.lower()}
    value = show_value(_with_extents(workload.value, extents))
    if not workload.reductions:
        return f"{output} = {value}"
    reduced = ", ".join(f"{index} < {extent}" for index, extent in workload.reductions)
    return f"{output} = {workload.combine}({reduced}) {value}"


def _with_extents(value: Value, extents: Mapping[str, str]) -> Value:
    """Free indices as the text writes them: by their extents."""
    match value:
        case Literal() | Index():
            return value
        case Read(access):
            index = tuple(
                Var(extents.get(i.name, i.name)) if isinstance(i, Var) else i for i in access.index
            )
            return Read(replace(access, index=index))
        case Op(_, args):
            return replace(value, args=tuple(_with_extents(a, extents) for a in args))
        case Select(_, then, other):
            first, second = _with_extents(then, extents), _with_extents(other, extents)
            return replace(value, then=first, other=second)
        case _:
            assert_never(value)


def _parameters(word: str, parameters: Sequence[Parameter]) -> Iterator[TextLine]:
    """As many on a line as fit; a line more with the same word for the rest."""
    text = ""
    source: int | None = None
    for parameter in parameters:
        item = _parameter(parameter)
        if text and len(text) + 2 + len(item) > WIDTH:
            yield TextLine(text, source)
            text = ""
        text = f"{text}, {item}" if text else f"  {word:<9} {item}"
        source = parameter.span.line if parameter.span else None
    if text:
        yield TextLine(text, source)


def _parameter(parameter: Parameter) -> str:
    if parameter.condition is None:
        return parameter.name.removeprefix("chip.")
    text = show_expr(parameter.condition)
    if not text.startswith(parameter.name):
        raise ValueError(f"the condition of {parameter.name} does not begin with it: {text}")
    return text.removeprefix("chip.")


def _decisions(decisions: Sequence[Decision]) -> Iterator[TextLine]:
    width = max(len(d.name) for d in decisions)
    for d in decisions:
        extra = f" also {_menu(d.extra)}" if d.extra else ""
        yield line(f"  {d.name:<{width}} in {_menu(d.menu)}{extra}", d.span)


def _menu(values: Iterable[int]) -> str:
    return "{" + ", ".join(str(v) for v in values) + "}"


def _definitions(definitions: Sequence[Definition]) -> Iterator[TextLine]:
    width = max(len(d.name) for d in definitions)
    for d in definitions:
        yield line(f"  {d.name:<{width}} = {show_expr(d.value)}", d.span)


def _constraints(constraints: Sequence[Constraint]) -> Iterator[TextLine]:
    heads = [c.name if c.wall is None else f"{c.name} wall {c.wall}" for c in constraints]
    width = max(map(len, heads))
    for head, c in zip(heads, constraints, strict=True):
        yield line(f"  {head:<{width}} : {show_expr(c.condition)}", c.span)


def _realised(kept: Realised) -> TextLine:
    text = f"  {kept.stage}[{show_list(kept.index)}] = {kept.buffer}[{','.join(kept.names)}]"
    return line(text, kept.span)


def _outline(outline: Outline) -> list[TextLine]:
    words = (
        ("backward", outline.backward),
        ("relation", outline.relation),
        ("rank", outline.rank),
    )
    found = [TextLine(f"{word:<8} {quoted(text)}") for word, text in words if text]
    if outline.prove:
        found.append(TextLine(f"prove    {', '.join(outline.prove)}"))
    return found


def _cost(cost: Cost) -> list[TextLine]:
    found = [TextLine(f"cost {cost.name} {cost.unit}")]
    for c in cost.coefficients:
        found.append(line(f"  coefficient {c.name} = {show_number(c.default)}", c.span))
    if cost.definitions:
        found.extend(_definitions(cost.definitions))
    for b in cost.bounds:
        guard = "" if b.guard is None else f" if {show_expr(b.guard)}"
        found.append(line(f"  {cost.name} >= {show_expr(b.value)}{guard}", b.span))
    for p in cost.prefer:
        found.append(line(f"  prefer {show_expr(p)}", p.span))
    if cost.energy is not None:
        text = f"  energy {cost.energy_unit} = {show_expr(cost.energy)}"
        found.append(line(text, cost.energy.span))
    return found


class _Program:
    """Lines of the program; a box is written where the shapes do not give it (rule P12)."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.buffers: dict[str, Buffer] = {b.name: b for b in template.globals}
        self.known: set[str] = set(self.buffers)
        for group in (template.scope.extents, template.scope.agents):
            self.known.update(p.name for p in group)
        self.known.update(d.name for d in template.decisions)
        self.known.update(d.name for d in template.definitions)
        self.known.update(s.output.name for s in template.scope.stages)

    def lines(self) -> Iterator[TextLine]:
        yield from self._block(self.template.program, "  ")

    def _block(self, body: Sequence[Stmt], indent: str) -> Iterator[TextLine]:
        allocated: list[str] = []
        for stmt in body:
            text = show_apply(stmt, self._boxed(stmt)) if isinstance(stmt, Apply) else ""
            yield line(indent + (text or show_stmt(stmt)), stmt.span)
            match stmt:
                case Alloc(buffers):
                    self.buffers.update((b.name, b) for b in buffers)
                    allocated.extend(b.name for b in buffers)
                    self.known.update(allocated)
                case For(var):
                    yield from self._inner((var,), stmt.body, indent)
                case Par(_, variables):
                    yield from self._inner(variables, stmt.body, indent)
                case If():
                    yield from self._inner((), stmt.body, indent)
                case _:
                    pass
        for name in allocated:
            self.known.discard(name)
            del self.buffers[name]

    def _inner(self, bound: Sequence[str], body: Sequence[Stmt], indent: str) -> Iterator[TextLine]:
        self.known.update(bound)
        yield from self._block(body, indent + "  ")
        self.known.difference_update(bound)

    def _boxed(self, apply: Apply) -> bool:
        places = free_places(apply.destination, apply.value, self.buffers, self.known)
        return agreed_box(places) != apply.box
