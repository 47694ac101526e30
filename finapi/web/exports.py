"""Lists as tables: made page by page from one moment of the data, and sent while they are made."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast
from urllib.parse import quote, urlencode

from finapi.accounts.billing import Charge
from finapi.core.errors import ApiError, invalid_param
from finapi.store.db import Database, Transaction
from finapi.web.http.call import Call, TablePage
from finapi.web.http.messages import GZIP_LEVEL, Response
from finapi.web.http.route import Route
from finapi.web.http.tables import CSV, MAX_ROWS, table_lines

log = logging.getLogger("finapi.exports")

_PAGED = (("limit", "offset"), ("size", "from"))
PAGE_ROWS = 1_000  # of which so many are in memory at a time


class OneMoment:
    """What stands for the database of an export: every page is read from one moment."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """The transaction of the export."""
        yield self._tx

    read_one = read


class TableExport:
    """The body of an answer that is sent while it is made. What fails ends it before its end, and is refunded.

    ``charge`` is open until then. A client that goes away pays, unless the server says why it ``cut`` it off.
    """

    def __init__(self, chunks: Iterator[bytes], *, gzipped: bool) -> None:
        self._chunks = _packed(chunks) if gzipped else chunks
        self._made = chunks
        self.charge: Charge | None = None
        self.cut: Callable[[], str] = str

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._chunks
        except GeneratorExit:
            raise
        except BaseException as error:
            self.cut = str
            if self.charge is not None:
                self.charge.refund(error)
            raise
        else:
            self.cut = str
        finally:
            self.close()

    def close(self) -> None:
        """End it, wherever it is; a server calls it whatever became of the answer (PEP 3333)."""
        cast(Any, self._made).close()
        reason, self.cut = self.cut(), str
        if reason:
            log.warning("a table was cut off and refunded: %s", reason)
            if self.charge is not None:
                self.charge.refund(ApiError("TIMEOUT", reason))
        if self.charge is not None:
            self.charge.settle()


def pages(route: Route) -> tuple[str, str] | None:
    """What the limit and the offset of a list are called; None for one that comes whole, as series do."""
    names = {one.name for one in (*route.params, *(route.body or ()))}
    return next((two for two in _PAGED if names.issuperset(two) and "layout" not in names), None)


def _most(route: Route, named: tuple[str, str] | None) -> int:
    """Rows of one table: of a free call no more than its JSON has, as nobody pays for what they take to make."""
    limits = [one.most for one in (*route.params, *(route.body or ())) if named is not None and one.name == named[0]]
    return MAX_ROWS if route.cost or not limits else int(limits[0] or MAX_ROWS)


def answer(call: Call) -> Response:
    """The rows of a list as the table that the call wants: at once when they are few, else while they are made."""
    made = _made(call)
    response = cast(Response, next(made))
    head = call.request.method == "HEAD"
    if response.stream is None or head:
        cast(Any, made).close()
    if response.stream is not None:
        response.stream = TableExport(cast(Iterator[bytes], made), gzipped=call.request.wants_gzip and not head)
    return response


def _made(call: Call) -> Iterator[Response | bytes]:
    """The response, whole or without a body; then its body."""
    named, kind = pages(call.route), call.table_kind or CSV
    with call.app.db.read() as tx:
        reader = _ListReader(call._replace(app=replace(call.app, db=cast(Database, OneMoment(tx)))), named)
        if isinstance(first := reader.page(reader.wanted or PAGE_ROWS), Response):
            yield first
            return
        columns = first.columns or call.route.columns
        if named is None or not reader.goes_on or reader.left == 0:
            yield reader.response(
                first, b"".join(table_lines(kind, columns, first.rows, head=True)), more=reader.goes_on
            )
            return
        more = reader.goes_beyond()
        key = ("user", call.user_id)
        with call.app.large.turn(key):
            response = reader.response(first, b"", more=more)
            response.stream = True  # to be made
            yield response
            yield from table_lines(kind, columns, first.rows, head=True)
            while reader.goes_on and reader.left:
                page = reader.page(reader.left or PAGE_ROWS)
                assert isinstance(page, TablePage)
                yield from table_lines(kind, columns, page.rows, head=False)
                if call.request.deadline is not None and call.app.clock.monotonic() > call.request.deadline:
                    raise ApiError("TIMEOUT", "The call exceeded the server's time limit.")


class _ListReader:
    """The pages of one list, one after the other."""

    def __init__(self, call: Call, named: tuple[str, str] | None) -> None:
        self.call, self.named = call, named
        self.given = {**call.params, **call.body}
        asked = named and (call.request.query.get(named[0], [None])[0] or call.body.get(named[0]))
        self.wanted = None if asked is None else max(int(asked), 1)
        self.most = _most(call.route, named)
        if self.wanted is not None and self.wanted > self.most:
            assert named is not None
            what = "A table" if call.route.cost else "A table of a free call"
            raise invalid_param(named[0], f"{what} has at most {self.most:,} rows.", expected=f"at most {self.most:,}")
        self.left = self.most if self.wanted is None else self.wanted
        self.place: dict[str, Any] = {} if named is None else {named[1]: self.given.get(named[1], 0)}
        self.goes_on = False
        self.next_cursor: Any = None

    def page(self, most: int) -> TablePage | Response:
        """The next page, or what the handler answers instead of one."""
        size = min(most, PAGE_ROWS, self.left)
        page = self._asked(size, self.place)
        if isinstance(page, TablePage) and self.named is not None:
            paging = page.meta.get("pagination", page.meta)
            self.left -= len(page.rows)
            total, self.next_cursor = paging.get("total"), paging.get("next_cursor")
            cursor = next((one for one in self.call.route.params if one.name == "cursor"), None)
            if cursor is not None and self.next_cursor is not None:
                # A cursor costs the same however far the list has come.
                self.place = {"cursor": cursor.read(str(self.next_cursor)), self.named[1]: 0}
            else:
                self.place = {**self.place, self.named[1]: self.place[self.named[1]] + len(page.rows)}
            known = paging.get("has_more")
            self.goes_on = bool(page.rows) and (len(page.rows) >= size if known is None else known)
            if known is None and total is not None and "cursor" not in self.place:
                self.goes_on = self.place[self.named[1]] < total
            if self.goes_on and not self.left and self.wanted is None:
                raise self._too_many(*self.named)
        return page

    def goes_beyond(self) -> bool:
        """Whether rows follow behind those that are wanted; INVALID_PARAM when all are and there are too many."""
        assert self.named is not None
        # The last of them says what follows it, and where.
        place = {**self.place, self.named[1]: self.place[self.named[1]] + self.left - 1}
        last = _ListReader(self.call, self.named)
        last.place, last.left = place, 1
        last.page(1)
        self.next_cursor = last.next_cursor
        return last.goes_on

    def _too_many(self, limit: str, offset: str) -> ApiError:
        message = f"The list has more than {self.most:,} rows. Narrow it, or page through it with {limit} and {offset}."
        return invalid_param(limit, message, expected=f"at most {self.most:,}")

    def response(self, first: TablePage, body: bytes, *, more: bool) -> Response:
        """The head of the answer, which says what follows the rows that were asked for."""
        paging = first.meta.get("pagination", first.meta)
        if self.named is None:
            headers = self.call.beside(first.meta)
        else:
            following = {"has_more": more, "next_cursor": self.next_cursor if more else None}
            headers = self.call.beside({**first.meta, "pagination": {**paging, **following}})
        if more and self.call.request.method in ("GET", "HEAD") and self.named is not None and self.wanted is not None:
            query = {name: given for name, given in self.call.request.query.items() if name != "apiKey"}
            query[self.named[1]] = [str(self.given.get(self.named[1], 0) + self.wanted)]
            headers["Link"] = f'<{quote(self.call.request.path, safe="/%")}?{urlencode(query, doseq=True)}>; rel="next"'
        return Response(200, body, f"{self.call.table_kind}; charset=utf-8", headers)

    def _asked(self, size: int, place: dict[str, Any]) -> TablePage | Response:
        taken: list[TablePage] = []
        values = {} if self.named is None else {self.named[0]: size, **place}
        in_body = self.named is not None and self.named[0] == "size" and self.call.route.body is not None
        body, params = (
            ({**self.call.body, **values}, self.call.params) if in_body else ({}, {**self.call.params, **values})
        )
        asked = self.call._replace(params=params, body=body or self.call.body, taken=taken)
        response = self.call.route.handler(asked)
        return taken[0] if taken else response


def _packed(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same compressed."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 31)
    for chunk in chunks:
        if packed := packer.compress(chunk):
            yield packed
    yield packer.flush()
