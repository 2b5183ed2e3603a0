"""The program section: rows to blocks of statements (rules L40 to L49)."""

from dataclasses import replace
from typing import cast

from formwright.base.source import Span
from formwright.ir.expr import ZERO, Expr
from formwright.ir.program import (
    Alloc,
    ApplyOp,
    Arrive,
    Await,
    Barrier,
    BoxVar,
    Buffer,
    Commit,
    DType,
    For,
    Hint,
    Home,
    If,
    Par,
    Stmt,
    Wait,
)
from formwright.lang.cursor import Cursor
from formwright.lang.draft import Block, RawApply
from formwright.lang.faults import Faults, LineError, counted
from formwright.lang.layout import Row
from formwright.lang.lexer import Token
from formwright.lang.limits import NESTING, STATEMENTS
from formwright.lang.values import ValueReader

HOMES: tuple[Home, ...] = ("global", "shared", "scratch", "register")
DTYPES: tuple[DType, ...] = ("f32", "f64", "bf16", "f16", "i32", "i8")
_UPDATES: tuple[ApplyOp, ...] = ("=", "+=", "max=")


class ProgramReader:
    """Reads rows; a row that cannot be read is told, and the rest goes on."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.budget = STATEMENTS

    def blocks(self, rows: list[Row], depth: int = 1) -> tuple[Block, ...]:
        found: list[Block] = []
        for row in rows:
            found.extend(self._row(row, depth))
        return tuple(found)

    def _row(self, row: Row, depth: int) -> list[Block]:
        """The statements of one line, with its children under the last head."""
        cursor = Cursor(row.line.tokens, row.line.end)
        names = [t.text for t in row.line.tokens if t.kind == "name"]
        found: list[Block] = []
        with self.faults.recovering(names):
            found = self._statements(cursor, row, depth)
            return found
        self.faults.lost_headers = self.faults.lost_headers or bool(row.children)
        return [Block(None, self.blocks(row.children, depth + 1))]

    def _statements(self, cursor: Cursor, row: Row, depth: int) -> list[Block]:
        found: list[Block] = []
        while True:
            start = cursor.token
            if depth > NESTING:
                raise LineError(f"blocks are nested more than {NESTING} deep", start.span)
            if self.budget == 0:
                self.budget = -1
                self.faults.add(f"the program has more than {STATEMENTS} statements", start.span)
            if self.budget < 0:
                return found
            self.budget -= 1
            head, spans = self._statement(cursor)
            if isinstance(head, (For, Par, If)):
                found.append(Block(head, self._body(cursor, row, depth + 1), spans))
                return found
            found.append(Block(head, (), spans))
            if not cursor.take(";"):
                break
        cursor.finish("the statement")
        if row.children:
            self.faults.add(
                "nothing can stand below this statement",
                row.children[0].line.tokens[0].span,
                "only for, par and if have a block",
            )
            found.extend(self.blocks(row.children, depth))
        return found

    def _body(self, cursor: Cursor, row: Row, depth: int) -> tuple[Block, ...]:
        """What follows the colon on the line, or the rows below."""
        cursor.expect(":", "behind the head")
        if cursor.done:
            if not row.children:
                raise LineError(
                    "the block is empty", cursor.token.span, "indent its statements below"
                )
            return self.blocks(row.children, depth)
        return tuple(self._statements(cursor, row, depth))

    def _statement(self, cursor: Cursor) -> tuple[Stmt | RawApply, tuple[Span, ...]]:
        values = ValueReader(cursor)
        token = cursor.token
        if token.kind == "name":
            match token.text:
                case "alloc":
                    return _alloc(cursor, values), ()
                case "for":
                    return _for(cursor, values)
                case "par":
                    return _par(cursor, values)
                case "if":
                    return _if(cursor, values), ()
                case "barrier":
                    return Barrier(cursor.next().span), ()
                case "commit":
                    return Commit(cursor.next().span), ()
                case "wait":
                    cursor.next()
                    pending = values.expressions.expression()
                    return Wait(pending, cursor.since(token)), ()
                case "arrive":
                    cursor.next()
                    counter = cursor.name("the counter")
                    place = _place(cursor, values)
                    return Arrive(counter.text, place, cursor.since(token)), (counter.span,)
                case "await":
                    return _await(cursor, values)
                case "hint":
                    return _hint(cursor, values), ()
        return _apply(cursor, values), ()


def _alloc(cursor: Cursor, values: ValueReader) -> Alloc:
    """``alloc a[…], b[…] ring S shared, c[…] register``: attributes hold for the names before."""
    start = cursor.next()
    done: list[Buffer] = []
    waiting: list[Buffer] = []
    while True:
        name = cursor.name("a buffer's name")
        cursor.expect("[", f'behind "{name.text}"', "give the shape in brackets")
        shape = [values.expressions.expression()]
        while cursor.take(","):
            shape.append(values.expressions.expression())
        cursor.expect("]", "to close the shape")
        waiting.append(Buffer(name.text, tuple(shape), "shared", span=name.span))
        if not cursor.done and not cursor.sees(",", ";"):
            done.extend(_attributes(cursor, values, waiting))
            waiting = []
        if not cursor.take(","):
            break
    if waiting:
        raise LineError(
            f'"{waiting[-1].name}" has no home',
            waiting[-1].span or start.span,
            "end it with shared, scratch or register",
        )
    return Alloc(tuple(done), cursor.since(start))


def _attributes(cursor: Cursor, values: ValueReader, buffers: list[Buffer]) -> list[Buffer]:
    """``ring e``, ``dist n``, an element type and a home, in any order, each once."""
    ring: Expr | None = None
    dist: int | None = None
    dtype: DType | None = None
    home: Home | None = None
    while not cursor.done and not cursor.sees(",", ";"):
        token = cursor.token
        word = token.text if token.kind == "name" else ""
        if word == "ring" and ring is None:
            cursor.next()
            ring = values.expressions.arithmetic()
        elif word == "dist" and dist is None:
            cursor.next()
            dist, _ = cursor.integer('the number of indices behind "dist"')
        elif word in DTYPES and dtype is None:
            dtype = cast(DType, cursor.next().text)
        elif word in HOMES and home is None:
            home = cast(Home, cursor.next().text)
        else:
            raise LineError(
                f"{cursor.seen()} is not an attribute that is still open here",
                token.span,
                "there are: ring e, dist n, an element type, and shared, scratch or register",
            )
    if home is None:
        raise LineError(
            f'"{buffers[-1].name}" has no home',
            buffers[-1].span or cursor.token.span,
            "end it with shared, scratch or register",
        )
    return [replace(b, home=home, ring=ring, dist=dist or 0, dtype=dtype or "f32") for b in buffers]


def _for(cursor: Cursor, values: ValueReader) -> tuple[For, tuple[Span, ...]]:
    start = cursor.next()
    var = cursor.name("the loop's name")
    cursor.expect("in", "behind the loop's name", "write for v in lo .. hi:")
    lo: Expr = ZERO
    hi = values.expressions.expression()
    if cursor.take(".."):
        lo = hi
        hi = values.expressions.expression()
    return For(var.text, lo, hi, (), cursor.since(start)), (var.span,)


def _par(cursor: Cursor, values: ValueReader) -> tuple[Par, tuple[Span, ...]]:
    start = cursor.next()
    if not cursor.sees("grid", "team"):
        raise LineError(
            f'"grid" or "team" is missing behind "par"{cursor.before()}', cursor.token.span
        )
    kind = cursor.next().text
    names: list[Token] = []
    if cursor.take("("):
        names.append(cursor.name("a name"))
        while cursor.take(","):
            names.append(cursor.name("a name"))
        cursor.expect(")", "to close the names")
    else:
        names.append(cursor.name("a name"))
    cursor.expect("in", "behind the names", f"write par {kind} (i, j) in e, e:")
    extents = [values.expressions.expression()]
    while cursor.take(","):
        extents.append(values.expressions.expression())
    span = cursor.since(start)
    if len(extents) != len(names):
        raise LineError(
            f"{counted(len(names), 'name')} and {counted(len(extents), 'extent')}", span
        )
    texts = tuple(n.text for n in names)
    par = Par("grid" if kind == "grid" else "team", texts, tuple(extents), (), span)
    return par, tuple(n.span for n in names)


def _if(cursor: Cursor, values: ValueReader) -> If:
    start = cursor.next()
    cond = values.expressions.expression()
    if cursor.sees("then"):
        raise LineError(
            'a statement has no "then"', cursor.token.span, "write if condition: statements"
        )
    return If(cond, (), cursor.since(start))


def _await(cursor: Cursor, values: ValueReader) -> tuple[Await, tuple[Span, ...]]:
    start = cursor.next()
    counter = cursor.name("the counter")
    place = _place(cursor, values)
    cursor.expect(",", "behind the counter", "write await counter, count")
    count = values.expressions.expression()
    phase = values.expressions.expression() if cursor.take("phase") else None
    return Await(counter.text, count, place, phase, cursor.since(start)), (counter.span,)


def _place(cursor: Cursor, values: ValueReader) -> Expr | None:
    """``[e]`` behind a counter that is a cell of an array of them."""
    if not cursor.take("["):
        return None
    place = values.expressions.expression()
    cursor.expect("]", "to close the place of the counter")
    return place


def _hint(cursor: Cursor, values: ValueReader) -> Hint:
    start = cursor.next()
    if cursor.take("unroll"):
        factor = values.expressions.expression()
        return Hint("unroll", factor, span=cursor.since(start))
    if cursor.take("prefetch"):
        access = values.access()
        return Hint("prefetch", access=access, span=cursor.since(start))
    if cursor.take("stream"):
        access = values.access()
        return Hint("stream", access=access, span=cursor.since(start))
    raise LineError(
        f'"unroll", "prefetch" or "stream" is missing behind "hint"{cursor.before()}',
        cursor.token.span,
    )


def _apply(cursor: Cursor, values: ValueReader) -> RawApply:
    start = cursor.token
    if start.kind == "name" and cursor.ahead().text not in ("[", "<"):
        raise LineError(
            f'"{start.text}" begins no statement',
            start.span,
            "statements: alloc, for, par, if, barrier, commit, wait, arrive, await, hint, "
            "or buffer[…] = value",
        )
    destination = values.access()
    if not cursor.sees(*_UPDATES):
        raise LineError(f"=, += or max= is missing{cursor.before()}", cursor.token.span)
    op = next(u for u in _UPDATES if u == cursor.token.text)
    cursor.next()
    value = values.value()
    box: tuple[tuple[BoxVar, Span], ...] | None = None
    clip: Span | None = None
    asynchronous = False
    while cursor.sees("over", "clip", "async"):
        word = cursor.token
        if word.text == "over" and box is None:
            box = _over(cursor, values)
        elif word.text == "clip" and clip is None:
            clip = cursor.next().span
        elif word.text == "async" and not asynchronous:
            cursor.next()
            asynchronous = True
        else:
            raise LineError(f'"{word.text}" stands twice', word.span)
    return RawApply(destination, op, value, box, clip, asynchronous, cursor.since(start))


def _over(cursor: Cursor, values: ValueReader) -> tuple[tuple[BoxVar, Span], ...]:
    cursor.next()
    cursor.expect("(", 'behind "over"', "write over (r < Tm, k < Tk)")
    found: list[tuple[BoxVar, Span]] = []
    while not found or cursor.take(","):
        name = cursor.name("a name of the box")
        cursor.expect("<", "behind the name", "write over (r < Tm, k < Tk)")
        found.append((BoxVar(name.text, values.expressions.arithmetic()), name.span))
    cursor.expect(")", "to close the box")
    return tuple(found)
