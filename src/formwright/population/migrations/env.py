"""Read by Alembic: steps run on the connection, and in the transaction, of ``migrating``."""

from alembic import context

from formwright.population.migrating import VERSIONS
from formwright.population.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSIONS,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
