"""Schema 2: entries are found by name without reading all of them."""

from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """An index; no row changes."""
    op.create_index("entries_by_name", "entries", ["name"])
