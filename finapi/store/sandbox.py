"""One SELECT of a caller's over views of the database, within bounds of time, memory, rows and bytes.

What may be read is decided by SQLite's authorizer while a statement is compiled: the columns of the views and of the
tables beneath them, and nothing else. Because compiling cannot be interrupted (before SQLite 3.41) and grows with the
product of what nested queries repeat, a query is held to a shape that cannot explode. Each has a read-only connection.
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
from finapi.core.memory import give_back
from finapi.core.metrics import memory
from finapi.core.turns import Turns
from finapi.store.db import Database

# Functions of SQLite that neither make long values nor compare long ones with each other (instr, replace, trim
# with two arguments take the product of their lengths), nor tell anything of the process.
_FUNCTIONS = """
    abs avg coalesce count cume_dist date dense_rank first_value glob group_concat ifnull iif julianday lag last_value
    lead length like lower max median min nth_value ntile nullif percent_rank rank round row_number sign stddev strftime
    substr substring sum total typeof upper
"""
FUNCTIONS = frozenset(_FUNCTIONS.split())
MAX_HELD = 1_000_000  # numbers of 8 bytes that the medians of one query hold at a time

MAX_TEXT = 16 * 1024  # bytes of any value or row that a query makes
MAX_NODES = 250_000  # parts of a compiled query, of about 250 bytes and 3 microseconds each
MAX_GROWTH = 48 * 1024 * 1024  # bytes in use by SQLite that may come up while a query runs
# Bytes in use by all of SQLite, which it refuses to exceed while queries run, in one step too. What it keeps for
# seventeen connections besides is a third of it.
MAX_HEAP = 192 * 1024 * 1024
CHECK_EVERY = 1_000  # steps of SQLite's machine between two looks at the clock

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

# Patterns that ``re`` compiles, and keeps, with the first query: most processes never see one.
_ONLY_SELECT = r"(?i)\s*(?:SELECT|WITH)\b"
# Words that open what is not allowed; looked for in the raw text, inside of quotes too, so that no disagreement
# about where a quote ends can hide one.
_REFUSED = (
    (r"(?i)\bRECURSIVE\b", "recursion is not supported"),
    (r"--|/\*", "comments are not supported"),
    (r'["`\[\]]', "identifiers are written without quotes, strings in single quotes"),
    (r"\0", "it contains a NUL character"),
)
_TOKEN = r"\w+|[*'?]"
_NESTED = r"(?i)(?:\b(?:FROM|JOIN|AS|MATERIALIZED)|[,(])\s*\(\s*(?:SELECT|VALUES|WITH)\b"
# What a query names with WITH, in any case.
_NAMED = r"(?i)\b(\w+)\s*(?:\([^()]*\)\s*)?AS\s*(?:(?:NOT\s+)?MATERIALIZED\s*)?\("
_WORDS = r"(?i)[a-z_]\w*"
_COMPOUND = r"(?i)\b(?:UNION|INTERSECT|EXCEPT)\b"
# What a caller may be told of SQLite's own words: about the text that the caller wrote.
_TELLABLE = (
    r'near "[^"]{0,100}": syntax error|no such column: [\w.]{1,100}|ambiguous column name: [\w.]{1,100}'
    r"|incomplete input|misuse of aggregate: \w{1,20}\(\)|misuse of window function \w{1,20}\(\)"
    r"|wrong number of arguments to function \w{1,20}\(\)"
)


class Budget(NamedTuple):
    """What one query may take: seconds, rows and bytes of its answer."""

    seconds: float
    rows: int
    size: int


class QueryResult(NamedTuple):
    """An answer: its columns and rows; ``truncated`` when there would have been more."""

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
        turns: Turns | None = None,
        allowance: CpuAllowance | None = None,
    ) -> None:
        self._db = db
        self._budget = budget
        self._monotonic = monotonic
        self.turns = turns or Turns(BUSY, 2, 0, 0.0, each=1)
        self.allowance = allowance or CpuAllowance(math.inf, monotonic, refusal=CPU_USED)
        self._idle: list[_SandboxConnection] = []

    def query(
        self, sql: str, views: frozenset[str], account: Hashable = None, values: Sequence[str | float | None] = ()
    ) -> QueryResult:
        """Return the rows of one SELECT over ``views``, with ``values`` in the places of its question marks.

        Raise INVALID_PARAM (400) if it is not a SELECT, reads anything but the views, or exceeds its budget;
        RATE_LIMIT_EXCEEDED (429) if the account has used its seconds of CPU; UNAVAILABLE (503) if its turn does not
        come.
        """
        _check(sql)
        with self.turns.turn(account):
            self.allowance.check(account)
            started_seconds = self.allowance.cpu_seconds()
            try:
                with _heap_bounded():
                    return self._run(sql, views, values)
            finally:
                self.allowance.add(account, self.allowance.cpu_seconds() - started_seconds)

    def _run(self, sql: str, views: frozenset[str], values: Sequence[str | float | None]) -> QueryResult:
        try:
            connection = self._idle.pop()
        except IndexError:
            # A database in memory cannot be opened twice: each query gets a copy of it as it is now. Of a file whose
            # pages others write each query has a connection of its own.
            connection = _SandboxConnection(self._db.open_separate_reader(), views)
        try:
            with self._db.reading(connection.connection):
                return connection.run(sql, values, self._budget, self._monotonic)
        finally:
            if self._db.path is None or self._db.is_copy or connection.stopped:
                # What a query that was stopped has grown goes back to the system.
                connection.close()
                self._db.forget_separate_reader(connection.connection)
                give_back()
            else:
                self._idle.append(connection)


BUSY = "Other queries are running."
CPU_USED = "The SQL queries of this account have used their seconds of CPU."
TOO_MUCH = "it took too much memory"


@cache
def _library() -> Any:
    """The SQLite that this process runs on, where its functions can be called; else None."""
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


def _in_use() -> int:
    """Bytes in use by SQLite; of the process where it cannot be asked."""
    library = _library()
    return memory()[1] if library is None else int(library.sqlite3_memory_used())


_running: list[int] = []
_heap = threading.Lock()


@contextmanager
def _heap_bounded() -> Iterator[None]:
    """While queries run SQLite takes no more than a fixed amount of memory, whatever earlier ones left.

    A process that holds more already, in databases in memory, has that and as much again as a query may grow.
    """
    library = _library()
    if library is None:
        yield
        return
    with _heap:
        _running.append(max(MAX_HEAP, library.sqlite3_memory_used() + 2 * MAX_GROWTH))
        library.sqlite3_hard_heap_limit64(max(_running))
        mine = _running[-1]
    try:
        yield
    finally:
        with _heap:
            _running.remove(mine)
            library.sqlite3_hard_heap_limit64(max(_running, default=0))


class _SandboxConnection:
    """A connection on which nothing but reading the views is possible."""

    def __init__(self, connection: sqlite3.Connection, views: frozenset[str]) -> None:
        self._connection = self.connection = connection
        self.views = views
        self._denied = False
        self._stopped = ""
        self.columns: dict[str, list[str]] = {}
        self._own: set[str] = set()  # names that the query gives, and nothing else bears
        self.held = 0  # numbers in the medians of the query that runs
        connection.create_aggregate("median", 1, partial(_Median, self))  # type: ignore[arg-type]
        connection.create_aggregate("stddev", 1, _Deviation)  # type: ignore[arg-type]
        connection.row_factory = None
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        named = "SELECT name FROM sqlite_master UNION SELECT name FROM pragma_module_list"
        self._taken = {str(row[0]).lower() for row in connection.execute(named)}
        # In memory, where the bound on growth sees it, and not on a disk that fills.
        for pragma in ("query_only=ON", "temp_store=MEMORY", "cache_size=-4000", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {pragma}")
        self._beneath = self._learned()
        tables = sorted({table for table, _ in self._beneath})
        # The tables themselves are not for reading, though nothing in these columns is secret: counting their
        # rows would not tell the authorizer apart from counting a view's.
        self._names_beneath = re.compile(rf"\b(?:{'|'.join(tables)})\b", re.IGNORECASE)
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.set_authorizer(self._authorize)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @property
    def stopped(self) -> bool:
        """Whether the last query was stopped for what it took."""
        return bool(self._stopped)

    def run(
        self, sql: str, values: Sequence[str | float | None], budget: Budget, monotonic: Callable[[], float]
    ) -> QueryResult:
        """The answer of a query that has the right shape."""
        self._denied, self._stopped, self.held = False, "", 0
        until, most = monotonic() + budget.seconds, _in_use() + MAX_GROWTH

        def over() -> bool:
            if monotonic() > until:
                self._stopped = f"it took longer than {budget.seconds:g} s"
            elif _in_use() > most:
                self._stopped = TOO_MUCH
            return bool(self._stopped)

        if self._names_beneath.search(sql):
            raise _refused(self._only_views())
        self._own = {name for name in map(str.lower, re.findall(_NAMED, sql)) if name not in self._taken}
        self._connection.set_progress_handler(over, CHECK_EVERY)
        cursor = self._connection.cursor()
        try:
            cursor.execute(sql, values)
            if cursor.description is None:
                raise _refused("it returns no rows")
            return _read(cursor, budget)
        except MemoryError:
            self._stopped = TOO_MUCH
            raise _refused(TOO_MUCH) from None
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            raise _refused(self._reason(error, sql)) from None
        finally:
            cursor.close()
            self._connection.set_progress_handler(None, 0)

    def hold(self, numbers: int) -> None:
        """Count numbers that a median takes or leaves; MemoryError for more than all of a query's may hold."""
        self.held += numbers
        if self.held > MAX_HELD:
            self._stopped = TOO_MUCH
            raise MemoryError

    def _reason(self, error: BaseException, sql: str) -> str:
        """What a caller may know of an error: nothing of tables that are not the views."""
        text = str(error)
        if self._stopped:
            return self._stopped
        if self._denied or "no such table" in text or "prohibited" in text:
            return self._only_views()
        if "no such function" in text or "not authorized to use function" in text:
            return f"only these functions are supported: {', '.join(sorted(FUNCTIONS))}"
        if "one statement" in text:
            return "it is more than one statement"
        if "too big" in text:
            return f"it makes a value or row of more than {MAX_TEXT} bytes"
        if "Incorrect number of bindings" in text:
            return "it has not as many question marks as params has values"
        if text.startswith("no such column"):
            words = {word.lower() for word in re.findall(_WORDS, sql)}
            told = (f"{view} has {', '.join(columns)}" for view, columns in self.columns.items() if view in words)
            return "; ".join((text, *told))
        return text if re.fullmatch(_TELLABLE, text) else "it cannot be run"

    def _only_views(self) -> str:
        return f"only these can be read: {', '.join(sorted(self.views))}"

    def _learned(self) -> frozenset[tuple[str, str]]:
        """The columns of tables that reading the views reads."""
        read: set[tuple[str, str]] = set()

        def note(action: int, first: str | None, second: str | None, _: str | None, source: str | None) -> int:
            if action == sqlite3.SQLITE_READ and first not in self.views:
                read.add((str(first), str(second)))
                read.add((str(first), ""))
            return sqlite3.SQLITE_OK

        self._connection.set_authorizer(note)
        for view in sorted(self.views):
            # Not a parameter: a name takes none. The names are ours.
            cursor = self._connection.execute(f"SELECT * FROM {view} LIMIT 0")  # nosec B608
            self.columns[view] = [column[0] for column in cursor.description]
            cursor.close()
        return frozenset(read)

    def _authorize(self, action: int, first: str | None, second: str | None, _: str | None, source: str | None) -> int:
        if action == sqlite3.SQLITE_SELECT:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            # A table of which no column is read is named without its view: see _names_beneath.
            if first in self.views or ((source in self.views or not second) and (first, second) in self._beneath):
                return sqlite3.SQLITE_OK
            # So is what WITH names, which no table or function of SQLite's may bear.
            name = str(first).lower()
            if not second and name in self._own and not name.startswith(("sqlite_", "pragma_")):
                return sqlite3.SQLITE_OK
            self._denied = True
        elif action == sqlite3.SQLITE_FUNCTION and second in FUNCTIONS:
            return sqlite3.SQLITE_OK
        elif action != sqlite3.SQLITE_FUNCTION:
            self._denied = True
        return sqlite3.SQLITE_DENY


class _Median:
    """The middle of numbers, or the mean of the two in the middle."""

    def __init__(self, connection: _SandboxConnection) -> None:
        self._connection = connection
        self._numbers = array("d")

    def step(self, value: object) -> None:
        """Take a number; what is none is left out, as sum and avg leave null out."""
        if isinstance(value, int | float):
            self._connection.hold(1)
            self._numbers.append(value)

    def finalize(self) -> float | None:
        """The median of what was taken, None of nothing."""
        import statistics

        self._connection.hold(-len(self._numbers))
        return statistics.median(self._numbers) if self._numbers else None


class _Deviation:
    """The standard deviation of a sample (Welford), None of fewer than two numbers."""

    def __init__(self) -> None:
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def step(self, value: object) -> None:
        """Take a number; what is none is left out."""
        if isinstance(value, int | float):
            self._count += 1
            off = value - self._mean
            self._mean += off / self._count
            self._squares += off * (value - self._mean)

    def finalize(self) -> float | None:
        """The deviation of what was taken."""
        return math.sqrt(self._squares / (self._count - 1)) if self._count > 1 else None


def _check(sql: str) -> None:
    """Refuse what is no SELECT of a shape that compiles in bounded time."""
    if not re.match(_ONLY_SELECT, sql):
        raise _refused("it begins with neither SELECT nor WITH")
    for pattern, reason in _REFUSED:
        if re.search(pattern, sql):
            raise _refused(reason)
    # A column of an inner query stands wherever an outer one names it, and an alias wherever WHERE does: the
    # compiled query is as large as the product of how often each level names the one below.
    levels = 1 + len(re.findall(_NESTED, sql))
    arms = 1 + len(re.findall(_COMPOUND, sql))
    tokens = len(re.findall(_TOKEN, sql))
    if levels > 8 or max(1.0, tokens / (levels + 1)) ** (levels + 1) * arms ** (levels - 1) > MAX_NODES:
        raise _refused("it is too long for its number of nested queries")


def _read(cursor: sqlite3.Cursor, budget: Budget) -> QueryResult:
    rows: list[list[Any]] = []
    size = 0
    truncated = False
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(rows) == budget.rows or size > budget.size:
            truncated = True
            break
        rows.append([_value(value) for value in row])
    return QueryResult(_names([column[0] for column in cursor.description]), rows, truncated)


def _names(given: list[str]) -> list[str]:
    """Column names, each once: the second ``close`` is ``close_2``."""
    names: list[str] = []
    for name in given:
        unlike, number = name, 1
        while unlike in names:
            number += 1
            unlike = f"{name}_{number}"
        names.append(unlike)
    return names


def _value(value: Any) -> Any:
    """A value as JSON can say it: infinities are null, bytes their hexadecimal digits."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.hex() if isinstance(value, bytes) else value


def _refused(reason: str) -> ApiError:
    return invalid_param("query", f"The query is refused: {reason}.", expected="one SELECT over the documented views")
