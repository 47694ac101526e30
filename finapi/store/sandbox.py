"""A caller's SELECT over views of the database, within limits of time, memory, rows and bytes.

SQLite's authorizer decides what a query may read while it is compiled: the columns of the views and of the tables below
them, and nothing else. Compiling cannot be interrupted (before SQLite 3.41), and the size of a compiled query grows
with the product of the repetitions in its nested queries. So a query is refused before it is compiled unless its text
shows that this product is small. It runs on a connection that can only read.
"""

from __future__ import annotations

import math
import re
import sqlite3
import threading
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

from finapi.core.cpu_allowance import CpuAllowance
from finapi.core.errors import ApiError, invalid_param
from finapi.core.fair_queue import FairQueue
from finapi.core.memory import release_free_memory
from finapi.core.metrics import read_memory_usage
from finapi.store.db import Database

# Functions of SQLite that build no long values, do not compare long values with each other (instr, replace and trim
# with two arguments take time proportional to the product of their lengths), and reveal nothing about the process.
_FUNCTIONS = """
    abs avg coalesce count cume_dist date dense_rank first_value glob group_concat ifnull iif julianday lag last_value
    lead length like lower max median min nth_value ntile nullif percent_rank rank round row_number sign stddev strftime
    substr substring sum total typeof upper
"""
FUNCTIONS = frozenset(_FUNCTIONS.split())
MAX_MEDIAN_NUMBERS = 800_000  # Numbers that all medians of a query may hold at the same time.
MEDIAN_NUMBER_BYTES = 40  # The bytes of such a number while its median is computed: in an array and in a sorted list.

MAX_TEXT = 16 * 1024  # Bytes of any value or row that a query builds.
MAX_NODES = 250_000  # Nodes of a compiled query. Each takes about 250 bytes and 3 microseconds.
# Bytes that the memory of SQLite and medians may grow by while a query runs. The process grows by up to a third more.
MAX_GROWTH = 32 * 1024 * 1024
# Bytes that SQLite may have in use while queries run. Unlike MAX_GROWTH, SQLite checks this one itself, before each
# allocation. The caches of seventeen connections are a third of it.
MAX_HEAP = 192 * 1024 * 1024
CHECK_STEPS = 1_000  # Steps of SQLite's virtual machine between two checks of time and memory.

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_TEXT,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 12_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 50_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 20,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 50,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}

# The patterns are strings, which ``re`` compiles when the first query arrives. Most processes never get one.
_ONLY_SELECT = r"(?i)\s*(?:SELECT|WITH)\b"
# Texts that a query must not contain, and the reasons. They are refused inside quotes too, so that they cannot be
# hidden where this module and SQLite disagree about the end of a quote.
_FORBIDDEN = (
    (r"(?i)\bRECURSIVE\b", "recursion is not supported"),
    (r"--|/\*", "comments are not supported"),
    (r'["`\[\]]', "identifiers are written without quotes, strings in single quotes"),
    (r"\0", "it contains a NUL character"),
)
_TOKEN = r"\w+|[*'?]"
_NESTED = r"(?i)(?:\b(?:FROM|JOIN|AS|MATERIALIZED)|[,(])\s*\(\s*(?:SELECT|VALUES|WITH)\b"
# The names that a query defines with WITH.
_WITH_NAME = r"(?i)\b(\w+)\s*(?:\([^()]*\)\s*)?AS\s*(?:(?:NOT\s+)?MATERIALIZED\s*)?\("
_WORD = r"(?i)[a-z_]\w*"
_COMPOUND = r"(?i)\b(?:UNION|INTERSECT|EXCEPT)\b"
# Messages of SQLite that a caller may see, because they concern only the text of the query.
_PUBLIC_MESSAGE = (
    r'near "[^"]{0,100}": syntax error|no such column: [\w.]{1,100}|ambiguous column name: [\w.]{1,100}'
    r"|incomplete input|misuse of aggregate: \w{1,20}\(\)|misuse of window function \w{1,20}\(\)"
    r"|wrong number of arguments to function \w{1,20}\(\)"
)


BUSY = "Other queries are running."
CPU_USED = "The SQL queries of this account have used their seconds of CPU."
TOO_MUCH = "it took too much memory"


class Budget(NamedTuple):
    """The limits of a query: seconds, and the rows and bytes of its result."""

    seconds: float
    rows: int
    size: int


class QueryResult(NamedTuple):
    """The columns and rows of a query. ``truncated`` is True if there were more rows than the budget allows."""

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


class Sandbox:
    """Runs callers' queries, one at a time per account.

    ``monotonic`` is the clock of a query's budget. ``allowance`` counts the CPU time of every query, refunded or not.
    """

    def __init__(
        self,
        db: Database,
        budget: Budget,
        monotonic: Callable[[], float],
        turns: FairQueue | None = None,
        allowance: CpuAllowance | None = None,
    ) -> None:
        self._db = db
        self._budget = budget
        self._monotonic = monotonic
        self.turns = turns or FairQueue(BUSY, 2, 0, 0.0, max_per_key=1)
        self.allowance = allowance or CpuAllowance(math.inf, monotonic, refusal=CPU_USED)
        self._idle: list[_SandboxConnection] = []

    def query(
        self, sql: str, views: frozenset[str], account: Hashable = None, values: Sequence[str | float | None] = ()
    ) -> QueryResult:
        """Return the rows of one SELECT over ``views``, with ``values`` in place of its question marks.

        Raise INVALID_PARAM (400) if it is not a SELECT, reads anything but the views, or exceeds its budget. Raise
        RATE_LIMIT_EXCEEDED (429) if the account has used its CPU time, and UNAVAILABLE (503) if other queries run for
        too long.
        """
        _check_shape(sql)
        with self.turns.enter(account):
            self.allowance.check(account)
            started_seconds = self.allowance.cpu_seconds()
            try:
                with _heap_limits.limit() as max_bytes:
                    return self._run(sql, views, values, max_bytes)
            finally:
                self.allowance.add(account, self.allowance.cpu_seconds() - started_seconds)

    def _run(
        self, sql: str, views: frozenset[str], values: Sequence[str | float | None], max_bytes: int
    ) -> QueryResult:
        try:
            connection = self._idle.pop()
        except IndexError:
            # A database in memory cannot be opened twice, so each query gets a copy. For a file that another process
            # writes, each query gets a new connection.
            connection = _SandboxConnection(self._db.open_separate_reader(), views)
        try:
            with self._db.reading(connection.connection):
                return connection.run(sql, values, self._budget, self._monotonic, max_bytes)
        finally:
            if self._db.path is None or self._db.is_copy or connection.was_stopped:
                # Return the memory of a stopped query to the operating system.
                connection.close()
                self._db.forget_separate_reader(connection.connection)
                release_free_memory()
            else:
                self._idle.append(connection)


@cache
def _load_library() -> Any:
    """Return the SQLite library of this process, or None if its functions cannot be called."""
    import _sqlite3
    import ctypes

    try:
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_memory_used.restype = ctypes.c_int64
        library.sqlite3_hard_heap_limit64.restype = ctypes.c_int64
        library.sqlite3_hard_heap_limit64.argtypes = (ctypes.c_int64,)
    except (OSError, AttributeError):
        return None
    return library


def _measure_memory() -> int:
    """Return the bytes in use by SQLite, or by the process if SQLite's memory cannot be measured."""
    library = _load_library()
    return read_memory_usage().resident_bytes if library is None else int(library.sqlite3_memory_used())


class _HeapLimits:
    """The limits of SQLite's memory while queries run. SQLite has one heap for all connections of the process.

    A query may let it grow by MAX_GROWTH. What another query has allocated when this one begins does not raise the
    limit of both together, which is twice MAX_GROWTH more than when no query ran.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hard_limits: list[int] = []  # One for each running query. The highest one applies.
        self._idle_bytes = 0  # The memory in use before the first of the running queries.
        self._median_numbers: dict[object, int] = {}  # The numbers in the medians of each running query.

    @contextmanager
    def limit(self) -> Iterator[int]:
        """Limit the memory while a query runs. Yield the bytes at which the query is to be stopped.

        SQLite itself uses no more than MAX_HEAP. If more is already in use, for databases in memory, twice MAX_GROWTH
        may be used in addition.
        """
        library = _load_library()
        with self._lock:
            used_bytes = self.measure()
            if not self._hard_limits:
                self._idle_bytes = used_bytes
            max_bytes = min(used_bytes + MAX_GROWTH, self._idle_bytes + 2 * MAX_GROWTH)
            hard_limit = max(MAX_HEAP, used_bytes + 2 * MAX_GROWTH)
            self._hard_limits.append(hard_limit)
            if library is not None:
                library.sqlite3_hard_heap_limit64(max(self._hard_limits))
        try:
            yield max_bytes
        finally:
            with self._lock:
                self._hard_limits.remove(hard_limit)
                if library is not None:
                    library.sqlite3_hard_heap_limit64(max(self._hard_limits, default=0))  # 0: no limit.

    def measure(self) -> int:
        """Return the bytes in use by SQLite and by medians."""
        return _measure_memory() + MEDIAN_NUMBER_BYTES * sum(list(self._median_numbers.values()))

    def count_median_numbers(self, owner: object, count: int) -> None:
        """Set the number of values in the medians of a query, which its connection owns."""
        if count:
            self._median_numbers[owner] = count
        else:
            self._median_numbers.pop(owner, None)


_heap_limits = _HeapLimits()


class _SandboxConnection:
    """A connection that can do nothing but read the views."""

    def __init__(self, connection: sqlite3.Connection, views: frozenset[str]) -> None:
        self._connection = self.connection = connection
        self.views = views
        self._denied = False  # True if the authorizer has refused anything but a function.
        self._stop_reason = ""
        self.columns: dict[str, list[str]] = {}  # The column names of each view.
        self._with_names: set[str] = set()  # Names that only the running query defines.
        self._median_numbers = 0  # Numbers that the medians of the running query hold.
        connection.create_aggregate("median", 1, partial(_Median, self))  # type: ignore[arg-type]
        connection.create_aggregate("stddev", 1, _StandardDeviation)  # type: ignore[arg-type]
        connection.row_factory = None
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        names = "SELECT name FROM sqlite_master UNION SELECT name FROM pragma_module_list"
        self._existing_names = {str(row[0]).lower() for row in connection.execute(names)}
        # temp_store: temporary tables are in memory, where MAX_GROWTH limits them.
        for pragma in ("query_only=ON", "temp_store=MEMORY", "cache_size=-4000", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {pragma}")
        self._table_columns = self._find_table_columns()
        tables = sorted({table for table, _ in self._table_columns})
        # Queries must not name the tables, although these columns are not secret, because the authorizer cannot
        # distinguish a count of a table's rows from a count of a view's.
        self._table_names = re.compile(rf"\b(?:{'|'.join(tables)})\b", re.IGNORECASE)
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.set_authorizer(self._authorize)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @property
    def was_stopped(self) -> bool:
        """Return True if the last query was stopped because it exceeded its budget."""
        return bool(self._stop_reason)

    def run(
        self,
        sql: str,
        values: Sequence[str | float | None],
        budget: Budget,
        monotonic: Callable[[], float],
        max_bytes: int,
    ) -> QueryResult:
        """Return the result of a query that has passed :func:`_check_shape`. Raise INVALID_PARAM for any failure.

        The query is stopped when SQLite's memory exceeds ``max_bytes``.
        """
        self._denied, self._stop_reason, self._median_numbers = False, "", 0
        until = monotonic() + budget.seconds

        def is_over_budget() -> bool:
            if monotonic() > until:
                self._stop_reason = f"it took longer than {budget.seconds:g} s"
            elif _heap_limits.measure() > max_bytes:
                self._stop_reason = TOO_MUCH
            return bool(self._stop_reason)

        if self._table_names.search(sql):
            raise _build_refusal(self._format_views())
        with_names = {name.lower() for name in re.findall(_WITH_NAME, sql)}
        self._with_names = with_names - self._existing_names
        self._connection.set_progress_handler(is_over_budget, CHECK_STEPS)
        cursor = self._connection.cursor()
        try:
            cursor.execute(sql, values)
            if cursor.description is None:
                raise _build_refusal("it returns no rows")
            return _read_rows(cursor, budget)
        except MemoryError:
            self._stop_reason = TOO_MUCH
            raise _build_refusal(TOO_MUCH) from None
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            raise _build_refusal(self._explain(error, sql)) from None
        finally:
            cursor.close()
            _heap_limits.count_median_numbers(self, 0)
            self._connection.set_progress_handler(None, 0)

    def count_median_numbers(self, change: int) -> None:
        """Add ``change`` to the count of stored numbers of all medians. Raise MemoryError if there are too many."""
        self._median_numbers += change
        _heap_limits.count_median_numbers(self, self._median_numbers)
        if self._median_numbers > MAX_MEDIAN_NUMBERS:
            self._stop_reason = TOO_MUCH
            raise MemoryError

    def _explain(self, error: BaseException, sql: str) -> str:
        """Return the reason of a failure for the caller. It reveals nothing about tables other than the views."""
        text = str(error)
        if self._stop_reason:
            return self._stop_reason
        if self._denied or "no such table" in text or "prohibited" in text:
            return self._format_views()
        if "no such function" in text or "not authorized to use function" in text:
            return f"only these functions are supported: {', '.join(sorted(FUNCTIONS))}"
        if "one statement" in text:
            return "it is more than one statement"
        if "too big" in text:
            return f"it builds a value or row of more than {MAX_TEXT} bytes"
        if "Incorrect number of bindings" in text:
            return "the number of its question marks differs from the number of values in params"
        if text.startswith("no such column"):
            words = {word.lower() for word in re.findall(_WORD, sql)}
            columns = (f"{view} has {', '.join(names)}" for view, names in self.columns.items() if view in words)
            return "; ".join((text, *columns))
        return text if re.fullmatch(_PUBLIC_MESSAGE, text) else "it cannot be run"

    def _format_views(self) -> str:
        return f"only these can be read: {', '.join(sorted(self.views))}"

    def _find_table_columns(self) -> frozenset[tuple[str, str]]:
        """Return the (table, column) pairs that the views read, and store the columns of the views.

        A pair with an empty column stands for reading a table without any of its columns, as count(*) does.
        """
        pairs: set[tuple[str, str]] = set()

        def authorize(action: int, table: str | None, column: str | None, _: str | None, source: str | None) -> int:
            if action == sqlite3.SQLITE_READ and table not in self.views:
                pairs.add((str(table), str(column)))
                pairs.add((str(table), ""))
            return sqlite3.SQLITE_OK

        self._connection.set_authorizer(authorize)
        for view in sorted(self.views):
            # A table name cannot be a parameter. These names are constants of finapi.
            cursor = self._connection.execute(f"SELECT * FROM {view} LIMIT 0")  # nosec B608
            self.columns[view] = [column[0] for column in cursor.description]
            cursor.close()
        return frozenset(pairs)

    def _authorize(self, action: int, first: str | None, second: str | None, _: str | None, source: str | None) -> int:
        """Return SQLITE_OK for reading the views and calling FUNCTIONS, and SQLITE_DENY for anything else."""
        if action == sqlite3.SQLITE_SELECT:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            table, column = first, second
            # Reading a table without any of its columns is reported without the view: see _table_names.
            is_from_view = source in self.views or not column
            if table in self.views or (is_from_view and (table, column) in self._table_columns):
                return sqlite3.SQLITE_OK
            # So is reading a name that WITH defines. It must not be the name of a table or function of SQLite.
            name = str(table).lower()
            if not column and name in self._with_names and not name.startswith(("sqlite_", "pragma_")):
                return sqlite3.SQLITE_OK
            self._denied = True
        elif action == sqlite3.SQLITE_FUNCTION and second in FUNCTIONS:
            return sqlite3.SQLITE_OK
        elif action != sqlite3.SQLITE_FUNCTION:
            self._denied = True
        return sqlite3.SQLITE_DENY


class _Median:
    """The SQL function median: the middle number, or the mean of the two in the middle."""

    def __init__(self, connection: _SandboxConnection) -> None:
        self._connection = connection
        self._numbers = array("d")

    def step(self, value: object) -> None:
        """Add a number. Other values are ignored, as sum and avg ignore null."""
        if isinstance(value, int | float):
            self._connection.count_median_numbers(1)
            self._numbers.append(value)

    def finalize(self) -> float | None:
        """Return the median, or None without numbers."""
        import statistics

        median = statistics.median(self._numbers) if self._numbers else None
        self._connection.count_median_numbers(-len(self._numbers))
        return median


class _StandardDeviation:
    """The SQL function stddev: the standard deviation of a sample (Welford's algorithm)."""

    def __init__(self) -> None:
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def step(self, value: object) -> None:
        """Add a number. Other values are ignored."""
        if isinstance(value, int | float):
            self._count += 1
            difference = value - self._mean
            self._mean += difference / self._count
            self._squares += difference * (value - self._mean)

    def finalize(self) -> float | None:
        """Return the deviation, or None for fewer than two numbers."""
        return math.sqrt(self._squares / (self._count - 1)) if self._count > 1 else None


def _check_shape(sql: str) -> None:
    """Raise INVALID_PARAM unless a query is a SELECT whose compiled size is bounded.

    SQLite compiles a column of an inner query again wherever the outer query names it, and an alias wherever WHERE
    names it. So the size is at most the product, over all levels, of how often a level names columns of the level
    below.
    """
    if not re.match(_ONLY_SELECT, sql):
        raise _build_refusal("it begins with neither SELECT nor WITH")
    for pattern, reason in _FORBIDDEN:
        if re.search(pattern, sql):
            raise _build_refusal(reason)
    levels = 1 + len(re.findall(_NESTED, sql))
    arms = 1 + len(re.findall(_COMPOUND, sql))
    tokens = len(re.findall(_TOKEN, sql))
    if levels > 8 or max(1.0, tokens / (levels + 1)) ** (levels + 1) * arms ** (levels - 1) > MAX_NODES:
        raise _build_refusal("it is too complex; shorten it or nest fewer queries")


def _read_rows(cursor: sqlite3.Cursor, budget: Budget) -> QueryResult:
    """Read rows until there are no more or the budget is used up."""
    rows: list[list[Any]] = []
    size = 0
    truncated = False
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(rows) == budget.rows or size > budget.size:
            truncated = True
            break
        rows.append([_convert_value(value) for value in row])
    return QueryResult(_make_unique([column[0] for column in cursor.description]), rows, truncated)


def _make_unique(columns: list[str]) -> list[str]:
    """Return column names without duplicates: the second ``close`` becomes ``close_2``."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names


def _convert_value(value: Any) -> Any:
    """Return a value that JSON can express: infinity is null, and bytes are hexadecimal digits."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.hex() if isinstance(value, bytes) else value


def _build_refusal(reason: str) -> ApiError:
    return invalid_param("query", f"The query is refused: {reason}.", expected="one SELECT over the documented views")
