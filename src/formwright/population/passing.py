"""Which failures of a database pass by themselves, so that a transaction is worth another try.

Every transaction of this store may be done twice (rows are named by their content), also where its
commit was cut and nobody knows whether it was heard: a second one changes nothing.
"""

from typing import Final

from sqlalchemy.exc import DBAPIError, OperationalError

STATES: Final = frozenset(
    {
        "40001",  # serialization_failure
        "40P01",  # deadlock_detected
        "55P03",  # lock_not_available
        "53300",  # too_many_connections
        "57P01",  # admin_shutdown: the server is going down, or this connection was ended
        "57P02",  # crash_shutdown
        "57P03",  # cannot_connect_now: starting, stopping or recovering
        "25P03",  # idle_in_transaction_session_timeout
    }
)
"""SQLSTATE of PostgreSQL (its manual, appendix A)."""

REFUSALS: Final = frozenset(
    {
        "42501",  # insufficient_privilege
        "25006",  # read_only_sql_transaction: a standby
        "53100",  # disk_full
    }
)

_STARTING: Final = ("starting up", "shutting down", "recovery", "too many", "reserved", "accepting")
"""Refusals in the words of an English server: no state comes with those of a connection."""

_NOBODY: Final = ("not known", "could not translate", "failed to resolve", "No address associated")


def passes(error: DBAPIError, *, opened: bool) -> bool:
    """Whether the same may go well a little later.

    A server that refuses a connection says so without a SQLSTATE. While a place is being opened a
    refusal that looks final (another password, no such database, no such host) is one; of a server
    that was there (``opened``) every refusal passes, in whatever language it is.
    """
    state = getattr(error.orig, "sqlstate", None)
    told = str(error.orig)
    if error.connection_invalidated:
        return True
    if state is not None:
        return state in STATES or state.startswith("08")
    if type(error.orig).__module__.startswith("sqlite3"):
        return "locked" in told or "busy" in told
    if type(error.orig).__name__ not in ("OperationalError", "ConnectionTimeout"):
        return False
    return opened or _looks_temporary(told)


def is_refusal(error: DBAPIError) -> bool:
    """Whether what was asked is right and the place does not take it: no right, no room."""
    if type(error.orig).__module__.startswith("sqlite3"):
        return isinstance(error, OperationalError)
    return getattr(error.orig, "sqlstate", None) in REFUSALS


def _looks_temporary(told: str) -> bool:
    if any(words in told for words in _NOBODY):
        return False
    return "FATAL" not in told or any(words in told for words in _STARTING)
