"""`Trace.sql`: questions about a trace, in SQL, answered by DuckDB. docs/guides/sql.md has the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from funcgraph.tracedata.selection import select as work_out

if TYPE_CHECKING:
    from funcgraph.tracedata.selection import Selection
    from funcgraph.tracedata.sql_tables import Readable, Tables

#: What `sql` needs, for the message when it is missing.
MISSING = "SQL needs DuckDB and pyarrow: pip install 'funcgraph[sql]'"

# NULL where the reader has a number that says so.
_VIEWS = (
    """CREATE VIEW calls AS SELECT * REPLACE (
           nullif(parent, 0) AS parent, nullif(duration_ns, -1) AS duration_ns,
           nullif(arguments, '') AS arguments, nullif(result, '') AS result,
           nullif(caller_line, 0) AS caller_line),
           duration_ns AS duration, self_ns AS self FROM call_rows""",
    """CREATE VIEW events AS SELECT * REPLACE (
           nullif(duration_ns, -1) AS duration_ns, nullif(lost, -1) AS lost,
           nullif(caller_line, 0) AS caller_line) FROM event_rows""",
)
_ROWS = 4096  # fetched at a time


class SqlError(ValueError):
    """A query is wrong, or not allowed. The text is DuckDB's."""


class SqlRows:
    """The rows of a query: an iterator over tuples.

    Attributes:
        columns: the names of the columns.
        types: their types, as DuckDB names them.
    """

    columns: list[str]
    types: list[str]

    def __init__(self, connection: Any, tables: Tables) -> None:
        self._connection, self._tables = connection, tables
        description = connection.description or []
        self.columns = [name for name, *_ in description]
        self.types = [str(kind) for _, kind, *_ in description]
        self._rows = self._fetched()

    def whole(self) -> Iterator[tuple[Any, ...]]:
        """Return an iterator over the rows that does not raise TraceError; see `report_damage`."""
        try:
            while True:
                with _errors():
                    rows = self._connection.fetchmany(_ROWS) if self.columns else []
                if not rows:
                    break
                yield from rows
        finally:
            self._connection.close()

    def report_damage(self) -> None:
        """Raise the TraceError of a damaged trace, if what was fetched so far is of one."""
        if self._tables.damage is not None:
            raise self._tables.damage

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        return next(self._rows)

    def _fetched(self) -> Iterator[tuple[Any, ...]]:
        yield from self.whole()
        self.report_damage()


@contextmanager
def _errors() -> Iterator[None]:
    """Turn DuckDB's errors into `SqlError`."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise SqlError(str(error)) from None


def run(
    trace: Readable,
    query: str,
    parameters: Sequence[Any] | Mapping[str, Any] = (),
    *,
    select: Selection | None = None,
    external: bool = False,
) -> SqlRows:
    """Ask a question about a trace: `Trace.sql`, which describes it."""
    try:
        import duckdb  # noqa: F401 (its absence is reported first)

        from funcgraph.tracedata.sql_tables import Tables
    except ImportError as error:
        if error.name and error.name.partition(".")[0] not in ("duckdb", "pyarrow"):
            raise
        raise ImportError(MISSING, name=error.name) from None
    try:
        query.encode()
    except UnicodeEncodeError:
        raise SqlError(f"the query is not UTF-8: {query!a}") from None
    if select is not None:
        work_out(trace, select)  # a scan could not tell of a wrong one
    tables = Tables(trace, select)
    connection = _connect(tables, external)
    try:
        with _errors():
            connection.execute(query, parameters or None)
    except BaseException:
        connection.close()
        raise
    return SqlRows(connection, tables)


def _connect(tables: Tables, external: bool) -> Any:
    """Return a connection to a database in memory that has the tables, and nothing else unless `external`."""
    import duckdb

    access: dict[str, Any] = (
        {} if external else {"enable_external_access": "false", "autoload_known_extensions": "false"}
    )
    connection = duckdb.connect(":memory:", config=access)
    connection.execute("SET enable_progress_bar = false")
    for name, table in tables.all().items():
        connection.register(name, table)
    for view in _VIEWS:
        connection.execute(view)
    if not external:
        connection.execute("SET lock_configuration = true")
    return connection
