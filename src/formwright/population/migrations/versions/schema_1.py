"""Schema 1: the tables as they were before there were migrations. Not to be changed."""

from alembic import op
from sqlalchemy import Boolean, Column, Float, Integer, String, Text, column, insert, table

revision = "1"
down_revision = None

_SEEN = (
    ("template", String(64)),
    ("chip", String(64)),
    ("chip_name", Text),
    ("contract", String(64)),
    ("operator", Text),
    ("extents", Text),
    ("dtypes", Text),
    ("threads", Integer),
    ("source", Text),
    ("imported", Boolean),
    ("created", String(32)),
)
_STEPS = ("rule", "proposer", "why", "run")


def upgrade() -> None:
    """Makes all tables."""
    op.create_table(
        "about",
        Column("name", String(32), primary_key=True),
        Column("value", String(64), nullable=False),
    )
    about = table("about", column("name", String), column("value", String))
    op.execute(insert(about).values(name="schema", value="1"))
    op.create_table(
        "entries",
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
    )
    op.create_index("entries_by_problem", "entries", ["problem", "niche"])
    op.create_table(
        "steps",
        Column("key", String(64), primary_key=True),
        Column("child", String(64), nullable=False),
        Column("parent", String(64), nullable=False),
        *(Column(name, Text, nullable=False) for name in _STEPS),
        Column("created", String(32), nullable=False),
    )
    op.create_index("ix_steps_child", "steps", ["child"])
    op.create_index("ix_steps_parent", "steps", ["parent"])
    _seen(
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
    _seen(
        "designs",
        Column("assignment", Text, nullable=False),
        Column("objective", Float(53)),
        Column("bound", Float(53)),
        Column("qualified", Boolean, nullable=False),
        Column("artifact", Text, nullable=False),
    )
    _seen(
        "held",
        Column("structure", Text, nullable=False),
        Column("held", Boolean, nullable=False),
        Column("detail", Text, nullable=False),
    )
    op.create_table(
        "met",
        Column("key", String(64), primary_key=True),
        Column("template", String(64), nullable=False),
        Column("condition", String(64), nullable=False),
        Column("text", Text, nullable=False),
        Column("point", Text, nullable=False),
        Column("replayed", Boolean, nullable=False),
        Column("source", Text, nullable=False),
        Column("imported", Boolean, nullable=False),
        Column("trace", Text, nullable=False),
        Column("created", String(32), nullable=False),
    )
    op.create_index("ix_met_template", "met", ["template"])
    op.create_index("ix_met_condition", "met", ["condition"])


def _seen(name: str, *columns: Column[object]) -> None:
    op.create_table(
        name,
        Column("key", String(64), primary_key=True),
        *(Column(told, kind, nullable=False) for told, kind in _SEEN),
        *columns,
    )
    op.create_index(f"ix_{name}_template", name, ["template"])
