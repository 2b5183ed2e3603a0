"""The population: what joins it, what is told of its templates, what is drawn from it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, select, update

from formwright.base.diagnostics import Diagnostic, InputError, fail, nearest
from formwright.contract.contract import Contract
from formwright.contract.formulas import workload_of
from formwright.ir.template import Template
from formwright.population import rows, tables
from formwright.population.admission import kept_proof, proof_digest, why_not
from formwright.population.chips import ChipKey
from formwright.population.engine import Database, read, write
from formwright.population.entries import (
    Clock,
    Design,
    Entry,
    Fact,
    Held,
    KeptFact,
    Language,
    Met,
    Origin,
    Step,
)
from formwright.population.keeping import keep, keep_steps, row_of
from formwright.population.opening import open_database
from formwright.population.retrieval import (
    SEATS,
    Alike,
    Covered,
    alike_to,
    covers,
    interface_of_contract,
    problem_of,
    quality,
    seated,
)
from formwright.population.texts import described, parsed
from formwright.proof.store import template_digest
from formwright.proof.verdict import Proof

NOT_PROVED = "not proved yet"


def open_population(
    path_or_url: str | Path, *, clock: Clock | None = None, make: bool = True
) -> "Population":
    """The population in a file, ``:memory:``, or at a URL ``postgresql://USER@HOST/DATABASE``.

    One that is not there is made, unless ``make`` is false. Raises ``InputError`` where there is
    something else at that place, or nothing that answers.
    """
    return Population(open_database(path_or_url, make=make), clock or Clock())


class Population:
    """Any number of processes and threads may hold one of the same store.

    What is written twice is kept once: rows are named by their content, so that a run that was
    stopped and goes on may tell everything again.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @property
    def place(self) -> str:
        """Where it is, as people may see it: a URL without its password."""
        return self._database.place.shown

    # Templates

    def add_template(
        self,
        text: str,
        *,
        language: Language = "fw",
        name: str = "",
        origin: Origin | None = None,
        reason: str = NOT_PROVED,
        verdict: str = "none",
        interface: str = "",
    ) -> Entry:
        """Puts a text on the shelf, marked with ``reason``; one that is known stays as it is.

        A ``.fw`` text is named by itself; kernel source by ``name``, and ``interface`` says for
        what call it is (:func:`interface_of_contract`). ``verdict`` is that of its last proof, or
        ``tested`` for source that was validated. Raises ``InputError`` for a text that is no
        template, too large, or of no known language.
        """
        row = described(text, language, name, interface)
        row |= {"place": "shelf", "reason": reason, "verdict": verdict}
        row |= {"proof": "", "proof_digest": "", "context": "", "created": self._clock.now()}

        def work(connection: Connection) -> None:
            keep(connection, tables.entries, row)
            keep_steps(connection, self._steps(row["digest"], origin))

        write(self._database, work)
        return self.entry(row["digest"])

    def admit(self, key: str, proof: Proof) -> Entry:
        """Takes an entry from the shelf into the population, or renews its proof.

        Raises ``InputError`` with every reason where ``proof`` does not show K1, K2 and K3 of it.
        """
        entry = self.entry(key)
        if entry.language != "fw":
            raise fail(
                f"{entry.name} is kernel source: it is tested and never proved",
                hint="it stays on the shelf",
            )
        reasons = why_not(parsed(entry.name, entry.text), proof)
        if reasons:
            hint = "it stays on the shelf"
            raise InputError([Diagnostic(f"{entry.name}: {r}", None, hint) for r in reasons])
        kept = kept_proof(proof)
        self._update(
            entry.digest,
            place="admitted",
            reason="K1, K2 and K3 are proved",
            verdict="proved",
            proof=rows.dumped(kept),
            proof_digest=proof_digest(kept),
            context=rows.context(),
        )
        return self.entry(entry.digest)

    def shelve(
        self, key: str, reason: str, *, verdict: str = "none", unless_proved: bool = False
    ) -> Entry:
        """Puts an entry on the shelf, or marks anew why it stands there.

        ``unless_proved``: what somebody proved meanwhile, under the rules of now, stays as it is.
        """
        entry = self.entry(key)
        cleared = {"proof": "", "proof_digest": "", "context": ""}
        column = tables.entries.c
        only = [column.context != rows.context()] if unless_proved else []
        told = {"place": "shelf", "reason": reason, "verdict": verdict, **cleared}
        self._update(entry.digest, *only, **told)
        return self.entry(entry.digest)

    def entry(self, key: str) -> Entry:
        """By digest, by the first 8 or more digits of it, or by a name that one entry has.

        Raises ``InputError`` where there is none, or more than one.
        """
        column = tables.entries.c
        by = [column.digest == key, column.name == key]
        if len(key) >= 8 and all(c in "0123456789abcdef" for c in key):
            # As a range, which every database looks up by the key's index, whatever its locale.
            by.append((column.digest >= key) & (column.digest < key + "g"))
        for condition in by:
            query = select(tables.entries).where(condition).order_by(column.digest)
            found = self._rows(query)
            if len(found) == 1:
                return rows.entry_of(found[0])
            if found:
                digests = ", ".join(f["digest"][:12] for f in found)
                raise fail(f"{key} names {len(found)} templates", hint=f"say which: {digests}")
        names = sorted({e["name"] for e in self._rows(select(tables.entries.c.name))})
        hint = nearest(key, names) or "formwright population list --shelf"
        raise fail(f"the population has no {key}", hint=hint)

    def entries(self, *, shelf: bool | None = None) -> tuple[Entry, ...]:
        """All, or those on the shelf (``True``), or those admitted (``False``); oldest first."""
        query = select(tables.entries).order_by(tables.entries.c.created, tables.entries.c.digest)
        if shelf is not None:
            query = query.where(tables.entries.c.place == ("shelf" if shelf else "admitted"))
        return tuple(rows.entry_of(r) for r in self._rows(query))

    # Where they come from

    def descend(self, child: str, origin: Origin) -> None:
        """Tells how ``child`` (a digest) came about; telling it again changes nothing."""
        write(self._database, lambda c: keep_steps(c, self._steps(child, origin)))

    def lineage(self, key: str) -> tuple[Step, ...]:
        """The steps that led to an entry: its own first, then those of its parents, and so on."""
        return self._followed(self.entry(key).digest, "child", "parent")

    def offspring(self, key: str) -> tuple[Step, ...]:
        """The steps that went out from an entry."""
        return self._followed(self.entry(key).digest, "parent", "child")

    def steps(self) -> tuple[Step, ...]:
        """All steps of all lineages, oldest first."""
        query = select(tables.steps).order_by(tables.steps.c.created, tables.steps.c.key)
        return tuple(rows.step_of(r) for r in self._rows(query))

    # What was seen of them

    def record(self, *seen: Fact | Design | Met | Held) -> None:
        """Keeps facts, designs, counterexamples and structures, all or none of them.

        Raises ``InputError`` where one is of no template here.
        """
        now = self._clock.now()
        made = [row_of(s, now) for s in seen]

        def work(connection: Connection) -> None:
            asked = {row["template"] for _, row in made}
            query = select(tables.entries.c.digest).where(tables.entries.c.digest.in_(asked))
            missing = asked - set(connection.execute(query).scalars())
            if missing:
                raise fail(f"the population has no template {', '.join(sorted(missing))}")
            # In one order: two that tell the same do not wait for one another in a circle.
            for table, row in sorted(made, key=lambda m: (m[0].name, m[1]["key"])):
                keep(connection, table, row)

        write(self._database, work)

    def facts(
        self,
        key: str | None = None,
        *,
        chip: ChipKey | None = None,
        machine: str | None = None,
        contract: str | None = None,
    ) -> tuple[KeptFact, ...]:
        """Facts of a template or of all, oldest first.

        For another ``chip`` than asked for, or another ``machine``, a fact is ``reopened``.
        Asked without a chip, a fact holds for its own.
        """
        found = self._seen(tables.facts, key, contract)
        return tuple(_standing(rows.fact_of(r), chip, machine) for r in found)

    def designs(self, key: str | None = None, contract: str | None = None) -> tuple[Design, ...]:
        """What solvers chose, oldest first."""
        return tuple(rows.design_of(r) for r in self._seen(tables.designs, key, contract))

    def held(self, key: str | None = None, contract: str | None = None) -> tuple[Held, ...]:
        """Which declared structures held, and which did not."""
        return tuple(rows.held_of(r) for r in self._seen(tables.held, key, contract))

    def counterexamples(
        self, key: str | None = None, condition: str = "", *, problem: Contract | None = None
    ) -> tuple[Met, ...]:
        """Those that a template met, or all; of one condition or of any; oldest first.

        With ``problem`` those that any template of the same formula met, on the shelf or not.
        """
        table = tables.met
        query = select(table).order_by(table.c.created, table.c.key)
        if key is not None:
            query = query.where(table.c.template == self.entry(key).digest)
        if condition:
            query = query.where(table.c.condition == condition)
        if problem is not None:
            column = tables.entries.c
            alike = select(column.digest).where(column.problem == _problem(problem))
            query = query.where(table.c.template.in_(alike))
        return tuple(rows.met_of(r) for r in self._rows(query))

    # What is drawn

    def covering(
        self,
        contract: Contract,
        *,
        chip: ChipKey | None = None,
        machine: str | None = None,
        shelf: bool = False,
        seats: int = SEATS,
    ) -> tuple[Covered, ...]:
        """Templates whose scope covers ``contract``: decided by what they say, not by their name.

        Best first, structures in turn. With ``shelf`` also what is not proved, marked so. A
        ``reopened`` entry is to be proved again (``admit`` renews it) before it is used.
        """
        column = tables.entries.c
        asked = [
            column.interface == interface_of_contract(contract),
            column.problem == _problem(contract),
            column.language == "fw",
        ]
        asked += [] if shelf else [column.place == "admitted"]
        entries = [rows.entry_of(r) for r in self._rows(select(tables.entries).where(*asked))]
        told = tables.facts
        query = select(told).where(told.c.template.in_(select(column.digest).where(*asked)))
        facts: dict[str, list[KeptFact]] = {}
        for row in self._rows(query.order_by(told.c.created, told.c.key)):
            kept = _standing(rows.fact_of(row), chip, machine)
            facts.setdefault(kept.fact.template, []).append(kept)
        order = quality(f for of_one in facts.values() for f in of_one)
        drawn = seated(entries, order, seats, lambda e: covers(e, contract))
        return tuple(Covered(e, t, tuple(facts.get(e.digest, ()))) for e, t in drawn)

    def alike(
        self, of: Template | Contract, *, limit: int = 8, shelf: bool = False
    ) -> tuple[Alike, ...]:
        """Templates of like structure, most alike first, ``of`` itself left out."""
        known = self.entries(shelf=None if shelf else False)
        if isinstance(of, Template):
            itself = template_digest(of)
            known = tuple(e for e in known if e.digest != itself)
        return alike_to(of, known)[:limit]

    # Rows

    def counts(self) -> dict[str, int]:
        """Rows of each table, for a look at the store."""

        def work(connection: Connection) -> dict[str, int]:
            shown = (t for t in tables.metadata.sorted_tables if t is not tables.about)
            return {t.name: len(connection.execute(select(t.c[0])).all()) for t in shown}

        return read(self._database, work)

    def _rows(self, query: Any) -> Sequence[Any]:
        return read(self._database, lambda c: c.execute(query).mappings().all())

    def _seen(self, table: Table, key: str | None, contract: str | None) -> Sequence[Any]:
        query = select(table).order_by(table.c.created, table.c.key)
        if key is not None:
            query = query.where(table.c.template == self.entry(key).digest)
        if contract is not None:
            query = query.where(table.c.contract == contract)
        return self._rows(query)

    def _update(self, key: str, *only: Any, **values: str) -> None:
        told = {name: rows.storable(value) for name, value in values.items()}
        statement = update(tables.entries).where(tables.entries.c.digest == key, *only)
        statement = statement.values(**told)
        write(self._database, lambda c: c.execute(statement))

    def _steps(self, child: str, origin: Origin | None) -> list[Step]:
        if origin is None:
            return []
        step = Step(
            child, "", origin.rule, origin.proposer, origin.why, origin.run, self._clock.now()
        )
        return [replace(step, parent=p) for p in origin.parents or ("",)]

    def _followed(self, start: str, here: str, there: str) -> tuple[Step, ...]:
        table = tables.steps

        def work(connection: Connection) -> tuple[Step, ...]:
            found: list[Step] = []
            known, front = {start}, [start]
            while front:
                query = select(table).where(table.c[here].in_(front))
                query = query.order_by(table.c.created, table.c.key)
                steps = [rows.step_of(r) for r in connection.execute(query).mappings()]
                found += steps
                reached = {getattr(s, there) for s in steps} - known - {""}
                known |= reached
                front = sorted(reached)
            return tuple(found)

        return read(self._database, work)


def _problem(contract: Contract) -> str:
    line, stages = workload_of(contract)
    return problem_of((line, *stages))


def _standing(fact: Fact, chip: ChipKey | None, machine: str | None) -> KeptFact:
    if chip is not None and chip.digest != fact.chip.digest:
        return KeptFact(fact, "reopened", f"seen on {fact.chip.name}, another chip")
    if machine is not None and machine != fact.machine:
        return KeptFact(fact, "reopened", f"seen on {fact.machine}, another machine")
    return KeptFact(fact, "holds")
