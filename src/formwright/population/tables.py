"""The rows of the store. Portable: nothing here is of one database only.

Every row has a digest of its content as its key, so that the same thing told twice, by one process
or by two, is one row. Who changes a table adds a step to ``migrations`` and one to ``SCHEMA``.
"""

from sqlalchemy import Boolean, Column, Float, Index, Integer, MetaData, String, Table, Text

SCHEMA = 2

metadata = MetaData()

about = Table(
    "about",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", String(64), nullable=False),
)

entries = Table(
    "entries",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("language", String(16), nullable=False),
    Column("name", String(64), nullable=False),
    Column("text", Text, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("place", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("verdict", String(16), nullable=False),
    Column("interface", Text, nullable=False),
    Column("problem", String(64), nullable=False),
    Column("niche", String(64), nullable=False),
    Column("signature", Text, nullable=False),
    Column("proof", Text, nullable=False),
    Column("proof_digest", String(64), nullable=False),
    Column("context", String(64), nullable=False),
    Column("created", String(32), nullable=False),
    Index("entries_by_problem", "problem", "niche"),
    Index("entries_by_name", "name"),
)

steps = Table(
    "steps",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("child", String(64), nullable=False, index=True),
    Column("parent", String(64), nullable=False, index=True),
    Column("rule", Text, nullable=False),
    Column("proposer", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("created", String(32), nullable=False),
)


def _seen(name: str, *columns: Column[object]) -> Table:
    """Rows about a template on a chip for a workload."""
    return Table(
        name,
        metadata,
        Column("key", String(64), primary_key=True),
        Column("template", String(64), nullable=False, index=True),
        Column("chip", String(64), nullable=False),
        Column("chip_name", Text, nullable=False),
        Column("contract", String(64), nullable=False),
        Column("operator", Text, nullable=False),
        Column("extents", Text, nullable=False),
        Column("dtypes", Text, nullable=False),
        Column("threads", Integer, nullable=False),
        Column("source", Text, nullable=False),
        Column("imported", Boolean, nullable=False),
        Column("created", String(32), nullable=False),
        *columns,
    )


facts = _seen(
    "facts",
    Column("assignment", Text, nullable=False),
    Column("machine", Text, nullable=False),
    Column("quantity", Text, nullable=False),
    Column("value", Float(53), nullable=False),
    Column("low", Float(53)),
    Column("high", Float(53)),
    Column("unit", Text, nullable=False),
    Column("evidence", String(16), nullable=False),
)

designs = _seen(
    "designs",
    Column("assignment", Text, nullable=False),
    Column("objective", Float(53)),
    Column("bound", Float(53)),
    Column("qualified", Boolean, nullable=False),
    Column("artifact", Text, nullable=False),
)

held = _seen(
    "held",
    Column("structure", Text, nullable=False),
    Column("held", Boolean, nullable=False),
    Column("detail", Text, nullable=False),
)

met = Table(
    "met",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("template", String(64), nullable=False, index=True),
    Column("condition", String(64), nullable=False, index=True),
    Column("text", Text, nullable=False),
    Column("point", Text, nullable=False),
    Column("replayed", Boolean, nullable=False),
    Column("source", Text, nullable=False),
    Column("imported", Boolean, nullable=False),
    Column("trace", Text, nullable=False),
    Column("created", String(32), nullable=False),
)
