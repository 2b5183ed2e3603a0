"""Brings the tables of an earlier version up to date: Alembic's steps in ``migrations``.

The schema that ``about`` tells is the truth, read by every version; Alembic's own table is written
from it, so that stores from before it are taken up too.
"""

from pathlib import Path
from threading import Lock
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, update

from formwright.population.tables import SCHEMA, about

FOLDER: Final = Path(__file__).parent / "migrations"
VERSIONS: Final = "population_version"
"""The table of Alembic."""

_ONE = Lock()
"""Alembic's steps speak to a global context."""


def migrate(connection: Connection, found: int, to: int = SCHEMA) -> None:
    """From schema ``found`` (0: no tables) to ``to``, inside the transaction of ``connection``."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    with _ONE:
        if found:
            command.stamp(config, str(found), purge=True)
        command.upgrade(config, str(to))
    connection.execute(update(about).where(about.c.name == "schema").values(value=str(to)))
