"""Lists as tables (CSV and NDJSON): read page by page from one moment of the data, and sent while they are read.

A call is charged before its first row is sent. The charge of a streamed export ends with the export:

- the last row has been sent, or the time of the call ended while the client was reading the last rows: settled;
- the client disconnects, stops reading or reads too slowly: settled. It pays for the rows that were sent, and a call
  has one price however many rows it returns;
- the server fails, stops, or needs too much time for its own work: refunded, and logged with the reason.

The reason comes from the connection (``httpd/response_writing.py``), in the environ as ``finapi.abort_reason``. It is
empty if the client caused the end.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urlencode

from finapi.accounts.billing import Charge
from finapi.core.errors import ApiError, invalid_param
from finapi.store.db import Database, Transaction
from finapi.web.http.call import Call, TablePage
from finapi.web.http.messages import GZIP_LEVEL, Response
from finapi.web.http.route import Route
from finapi.web.http.tables import CSV, MAX_ROWS, iter_table_chunks

log = logging.getLogger("finapi.exports")

PAGE_ROWS = 1_000  # The number of rows in memory at the same time.


class PageParams(NamedTuple):
    """The names of the two parameters that choose a page of a list."""

    limit: str
    offset: str


PAGE_PARAMS = (PageParams("limit", "offset"), PageParams("size", "from"))


class SnapshotDatabase:
    """The database of an export. All reads are part of one transaction, so they see the same state of the data."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Yield the transaction of the export, which is the same one at each call."""
        yield self._tx

    read_one = read


class StreamedExport:
    """The body of a streamed table (PEP 3333 iterable).

    ``resources`` are released when the last row has been read, or when the export is given up. ``charge`` stays open
    until the export ends.
    """

    def __init__(self, chunks: Iterator[bytes], resources: ExitStack) -> None:
        self.charge: Charge | None = None
        self._chunks = chunks
        self._resources = resources
        self._is_complete = False
        self._is_closed = False
        # Returns the reason why the server ended the connection, or "" if it did not.
        self._get_abort_reason: Callable[[], str] = str
        # Registers a function that the server calls when everything is sent. None if the server does not support that.
        self._call_when_sent: Callable[[Callable[[], None]], None] | None = None

    def start(self, environ: dict[str, Any]) -> Iterable[bytes]:
        """Read the server's functions from ``environ``. Return the body to send."""
        self._get_abort_reason = environ.get("finapi.abort_reason", str)
        self._call_when_sent = environ.get("finapi.when_sent")
        return self

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._chunks
            self._is_complete = True
        except GeneratorExit:
            raise
        except BaseException as error:
            self._is_closed = True
            self._resources.close()  # Closes the read transaction before the refund is written.
            if self.charge is not None:
                self.charge.refund(error)
            raise
        finally:
            self.close()

    def close(self) -> None:
        """End the export. A server always calls this at the end (PEP 3333). A second call does nothing."""
        self._resources.close()
        if self._is_closed:
            return
        self._is_closed = True
        if not self._is_complete:
            self._end_charge(self._get_abort_reason())
        elif not self.end_when_sent():
            self._end_charge("")

    def end_when_sent(self) -> bool:
        """Arrange that the charge ends when everything is sent. Return False if the server cannot report that."""
        if self._call_when_sent is None:
            return False
        self._call_when_sent(lambda: self._end_charge(self._get_abort_reason()))
        return True

    def _end_charge(self, abort_reason: str) -> None:
        """Settle the charge, or refund it if the server ended the connection for a reason of its own."""
        if self.charge is None:
            if abort_reason:
                log.warning("Export without a charge aborted: %s", abort_reason)
            return
        if abort_reason:
            log.warning("Export aborted and refunded: %s", abort_reason)
            self.charge.refund(ApiError("TIMEOUT", abort_reason))
        else:
            self.charge.settle()


def find_page_params(route: Route) -> PageParams | None:
    """Return the parameters that page through a list, or None for a list that is never paged, such as a series."""
    names = {param.name for param in (*route.params, *(route.body or ()))}
    if "layout" in names:
        return None
    return next((page_params for page_params in PAGE_PARAMS if names.issuperset(page_params)), None)


def _get_max_rows(route: Route, page_params: PageParams | None) -> int:
    """Return the maximum number of rows of a table. A free route has the maximum of its JSON answers."""
    if route.cost or page_params is None:
        return MAX_ROWS
    params = (*route.params, *(route.body or ()))
    limit = next((param for param in params if param.name == page_params.limit), None)
    return int((limit and limit.maximum) or MAX_ROWS)


def export_list(call: Call) -> Response:
    """Return the rows of a list as the table type that the caller requested. A table of several pages is streamed."""
    page_params = find_page_params(call.route)
    kind = call.requested_table_type or CSV
    with ExitStack() as resources:
        tx = resources.enter_context(call.app.db.read())
        snapshot = cast(Database, SnapshotDatabase(tx))
        reader = ListReader(call._replace(app=replace(call.app, db=snapshot)), page_params)
        page = reader.read_page(reader.requested_rows or PAGE_ROWS)
        if isinstance(page, Response):
            return page
        columns = page.columns or call.route.columns
        if page_params is None or not reader.has_more or reader.remaining_rows == 0:
            body = b"".join(iter_table_chunks(kind, columns, page.rows, with_header=True))
            return reader.build_response(page, body, has_more=reader.has_more)
        response = reader.build_response(page, b"", has_more=reader.has_rows_beyond())
        if call.request.method == "HEAD":
            response.stream = StreamedExport(iter(()), ExitStack())
            return response
        call.acquire_large_slot()
        resources.callback(call.release_large_slot)
        chunks = _iter_chunks(reader, page, kind, columns)
        if call.request.wants_gzip:
            chunks = _compress(chunks)
        response.stream = StreamedExport(chunks, resources.pop_all())
        return response


def _iter_chunks(reader: ListReader, page: TablePage, kind: str, columns: Any) -> Iterator[bytes]:
    """Yield the table, beginning with its first page."""
    yield from iter_table_chunks(kind, columns, page.rows, with_header=True)
    while reader.has_more and reader.remaining_rows:
        next_page = reader.read_page(reader.remaining_rows)
        assert isinstance(next_page, TablePage)
        yield from iter_table_chunks(kind, columns, next_page.rows, with_header=False)


class ListReader:
    """The pages of one list, in order."""

    def __init__(self, call: Call, page_params: PageParams | None) -> None:
        self.call = call
        self.page_params = page_params
        self.max_rows = _get_max_rows(call.route, page_params)
        self.requested_rows = self._parse_limit()
        self.remaining_rows = self.max_rows if self.requested_rows is None else self.requested_rows
        self.has_more = False
        self.next_cursor: Any = None
        self._parameters = {**call.params, **call.body}
        self._position: dict[str, Any] = {}  # The parameters of the next page's position.
        if page_params is not None:
            self._position[page_params.offset] = self._parameters.get(page_params.offset, 0)

    def _parse_limit(self) -> int | None:
        """Return the number of rows that the caller requested, None for all."""
        if self.page_params is None:
            return None
        name = self.page_params.limit
        limit = self.call.request.query.get(name, [None])[0] or self.call.body.get(name)
        if limit is None:
            return None
        requested_rows = max(int(limit), 1)
        if requested_rows > self.max_rows:
            table = "A table" if self.call.route.cost else "A table of a free call"
            expected = f"at most {self.max_rows:,}"
            raise invalid_param(name, f"{table} has {expected} rows.", expected=expected)
        return requested_rows

    def read_page(self, max_rows: int) -> TablePage | Response:
        """Return the next page, or the response of a handler that returns none.

        Raise INVALID_PARAM if the caller requested all rows and there are too many.
        """
        size = min(max_rows, PAGE_ROWS, self.remaining_rows)
        page = self._call_handler(size)
        if isinstance(page, TablePage) and self.page_params is not None:
            self._advance(page, size, self.page_params)
        return page

    def _advance(self, page: TablePage, size: int, page_params: PageParams) -> None:
        """Set the position after a page of at most ``size`` rows, and record if more rows follow."""
        paging = page.meta.get("pagination", page.meta)
        self.remaining_rows -= len(page.rows)
        self.next_cursor = paging.get("next_cursor")
        cursor_param = next((param for param in self.call.route.params if param.name == "cursor"), None)
        if cursor_param is not None and self.next_cursor is not None:
            # A cursor is preferred, because its cost does not grow with the position in the list.
            self._position = {"cursor": cursor_param.parse(str(self.next_cursor)), page_params.offset: 0}
        else:
            offset = self._position[page_params.offset] + len(page.rows)
            self._position = {**self._position, page_params.offset: offset}
        total, has_more = paging.get("total"), paging.get("has_more")
        if has_more is None and total is not None and "cursor" not in self._position:
            self.has_more = self._position[page_params.offset] < total
        else:
            self.has_more = bool(page.rows) and (len(page.rows) >= size if has_more is None else has_more)
        if self.has_more and not self.remaining_rows and self.requested_rows is None:
            limit, offset_name = page_params
            message = f"The list has more than {self.max_rows:,} rows."
            advice = f"Narrow it, or page through it with {limit} and {offset_name}."
            raise invalid_param(limit, f"{message} {advice}", expected=f"at most {self.max_rows:,}")

    def has_rows_beyond(self) -> bool:
        """Return True if more rows follow after the last one that this reader may return. Store the cursor to them.

        Raise INVALID_PARAM if the caller requested all rows and there are too many.
        """
        assert self.page_params is not None
        # The page with only the last row reports if another row follows, and its cursor.
        last_row_reader = ListReader(self.call, self.page_params)
        offset = self._position[self.page_params.offset] + self.remaining_rows - 1
        last_row_reader._position = {**self._position, self.page_params.offset: offset}
        last_row_reader.remaining_rows = 1
        last_row_reader.read_page(1)
        self.next_cursor = last_row_reader.next_cursor
        return last_row_reader.has_more

    def build_response(self, page: TablePage, body: bytes, *, has_more: bool) -> Response:
        """Return the response with this body. Its headers lead to the rows after the requested ones."""
        paging = page.meta.get("pagination", page.meta)
        if self.page_params is None:
            headers = self.call.build_table_headers(page.meta)
        else:
            end_of_table = {"has_more": has_more, "next_cursor": self.next_cursor if has_more else None}
            headers = self.call.build_table_headers({**page.meta, "pagination": {**paging, **end_of_table}})
        request = self.call.request
        has_link = has_more and request.method in ("GET", "HEAD") and self.requested_rows is not None
        if has_link and self.page_params is not None and self.requested_rows is not None:
            query = {name: values for name, values in request.query.items() if name != "apiKey"}
            next_offset = self._parameters.get(self.page_params.offset, 0) + self.requested_rows
            query[self.page_params.offset] = [str(next_offset)]
            path = quote(request.path, safe="/%")
            headers["Link"] = f'<{path}?{urlencode(query, doseq=True)}>; rel="next"'
        return Response(200, body, f"{self.call.requested_table_type}; charset=utf-8", headers)

    def _call_handler(self, size: int) -> TablePage | Response:
        """Return the page of ``size`` rows at the current position, or the response of a handler that returns none."""
        exported_pages: list[TablePage] = []
        params, body = self.call.params, self.call.body
        if self.page_params is not None:
            page_values = {self.page_params.limit: size, **self._position}
            if self.page_params.limit == "size" and self.call.route.body is not None:
                body = {**body, **page_values}
            else:
                params = {**params, **page_values}
        response = self.call.route.handler(self.call._replace(params=params, body=body, exported_pages=exported_pages))
        return exported_pages[0] if exported_pages else response


def _compress(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the chunks as gzip."""
    compressor = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 31)
    for chunk in chunks:
        if compressed := compressor.compress(chunk):
            yield compressed
    yield compressor.flush()
