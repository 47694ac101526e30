"""Bulk files: all rows of a dataset that were filed in a day, a month or a quarter, as gzip of CSV or NDJSON.

A file is built at its first request and cached on the disk (``store/file_cache.py``) until the data change or other
files need the space. A caller that has paid for a file may resume its download for a day: ranges of it are free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from os import SEEK_END
from typing import IO, Any, Literal, TypedDict

from finapi.app import App
from finapi.core.clock import iso
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, Time
from finapi.market.reference import bulk_datasets
from finapi.market.reference.bulk_datasets import DATASETS, Dataset, FiledPeriod
from finapi.store.file_cache import BuiltFile
from finapi.web.exports import StreamedExport
from finapi.web.http.call import Call
from finapi.web.http.messages import (
    BINARY_MEDIA_TYPE,
    GZIP_MEDIA_TYPE,
    Response,
    find_matching_etag,
    has_if_none_match_star,
)
from finapi.web.http.params import Param
from finapi.web.http.ranges import ByteRange, find_range
from finapi.web.http.route import API
from finapi.web.http.schema import Envelope
from finapi.web.http.tables import CSV, NDJSON, iter_table_chunks

FORMAT = "csv.gz, ndjson.gz"
MEDIA_TYPE_BY_KIND = {"csv": CSV, "ndjson": NDJSON}
BATCH_ROWS = 1_000  # The number of rows in memory at the same time.
CHUNK_BYTES = 1 << 18  # The size of a read from a file.

FILE_NAME_PATTERN = rf"(?:{'|'.join(DATASETS)})-{bulk_datasets.PERIOD_PATTERN}\.(?:csv|ndjson)\.gz"
FILE_NAME_HELP = "DATASET-PERIOD.csv.gz or .ndjson.gz, PERIOD a day (2026-01-30), month (2026-01) or quarter (2026q1)"


class PeriodFile(TypedDict):
    """A built file.

    ``complete`` is true if its period had ended when the file was built. Otherwise ``reason`` states that it had not.
    """

    dataset: str
    filename: str
    format: Literal["csv", "ndjson"]
    first_day: Date
    last_day: Date
    complete: bool
    reason: str | None
    row_count: int
    byte_size: int
    sha256: str
    generated_at: Time
    download_path: str


class _BulkFileTotals(TypedDict):
    """The totals that both indexes contain. ``snapshot`` is the time at which the newest file was built."""

    snapshot: Time | None
    generated_at: Time
    api_version: str
    format: str
    file_count: int
    total_rows: int


class BulkIndex(_BulkFileTotals):
    """The files that are already built. The file of any other period is built when it is requested."""

    datasets: list[str]
    files: list[PeriodFile]


class FactsShard(PeriodFile):
    """A built file of facts, and its position in the list of them.

    ``filing_id_lo`` and ``filing_id_hi`` are always null, because a file contains a span of filing days and not a range
    of filing ids.
    """

    shard_index: int
    filing_id_lo: int | None
    filing_id_hi: int | None


class FactsIndex(_BulkFileTotals):
    """The files of facts that are already built. The file of any other period is built when it is requested."""

    dataset: str
    shards_total: int
    files: list[FactsShard]


class BulkMeta(TypedDict):
    """The time of the newest file, the maximum total size of the stored files in bytes, and the form of file names."""

    snapshot: Time | None
    bytes_kept: int
    filename: str


class _FileChunks:
    """An iterator over the chunks of an open file, from its position on, at most ``byte_count`` bytes.

    Its ``close`` closes the file even before the first chunk was read. A generator that has not begun would not.
    """

    def __init__(self, file: IO[bytes], byte_count: int) -> None:
        self._file = file
        self._remaining_bytes = byte_count
        self.close = file.close

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        chunk = self._file.read(min(CHUNK_BYTES, self._remaining_bytes))
        if not chunk:
            raise StopIteration
        self._remaining_bytes -= len(chunk)
        return chunk


class FileExport(StreamedExport):
    """The body of a response that is a file. The server sends it from the disk, without a copy, if it can.

    ``byte_count`` is the length of the body, which begins at the position of the file. ``on_refund`` is called if the
    server ends the connection for a reason of its own.
    """

    def __init__(self, file: IO[bytes], byte_count: int, on_refund: Callable[[], None] | None = None) -> None:
        resources = ExitStack()
        resources.callback(file.close)
        super().__init__(_FileChunks(file, byte_count), resources)
        self._file = file
        self._on_refund = on_refund

    def _end_charge(self, abort_reason: str) -> None:
        super()._end_charge(abort_reason)
        if abort_reason and self._on_refund is not None:
            self._on_refund()

    def start(self, environ: dict[str, Any]) -> Iterable[bytes]:
        """Return the body to send. If the server has a ``wsgi.file_wrapper`` (PEP 3333), it is wrapped in that."""
        chunks = super().start(environ)
        wrap_file = environ.get("wsgi.file_wrapper")
        if wrap_file is None or not self.end_when_sent():
            return chunks
        wrapped: Iterable[bytes] = wrap_file(self._file, CHUNK_BYTES)
        return wrapped


INDEX_SHAPE = Envelope[BulkIndex, BulkMeta]
INDEX_PARAMS = (Param("dataset", allowed=tuple(DATASETS), help="Only files of this dataset.", example="form-4"),)
FILE_PARAMS = (
    Param(
        "filename",
        location="path",
        required=True,
        pattern=FILE_NAME_PATTERN,
        help=f"{FILE_NAME_HELP}.",
        example="form-4-2025-01-10.csv.gz",
    ),
)


FACTS_SHAPE = Envelope[FactsIndex, BulkMeta]
FACTS_PARAMS = (
    Param(
        "filename",
        location="path",
        required=True,
        pattern=FILE_NAME_PATTERN.replace("|".join(DATASETS), "facts"),
        help="facts-PERIOD.csv.gz or .ndjson.gz, PERIOD as in 2026-01-30, 2026-01 or 2026q1.",
        example="facts-2025-01.csv.gz",
    ),
)


def list_bulk_files(call: Call) -> Response:
    """Return the index of built files, by name."""
    return _build_index_response(call, _list_files(call, call.params["dataset"]), datasets=[*DATASETS])


def list_fact_files(call: Call) -> Response:
    """Return the index of built files of facts, by name."""
    shards = [_build_shard(position, period_file) for position, period_file in enumerate(_list_files(call, "facts"))]
    return _build_index_response(call, shards, dataset="facts", shards_total=len(shards))


def _build_index_response(call: Call, files: Sequence[PeriodFile], **extra_members: Any) -> Response:
    """Return the response with an index of files: the common members, ``extra_members`` and the files."""
    snapshot = max((file["generated_at"] for file in files), default=None)
    members: _BulkFileTotals = {
        "snapshot": snapshot,
        "generated_at": iso(call.now),
        "api_version": "v1",
        "format": FORMAT,
        "file_count": len(files),
        "total_rows": sum(file["row_count"] for file in files),
    }
    meta: BulkMeta = {"snapshot": snapshot, "bytes_kept": call.app.config.bulk_bytes, "filename": FILE_NAME_HELP}
    return call.success({**members, **extra_members, "files": files}, meta)


def get_bulk_file(call: Call) -> Response:
    """Return a file, or the range of it that the caller requests. Build it first if it is missing or outdated.

    Return 304 if the caller has it already. Raise RANGE_NOT_SATISFIABLE (416) for a range behind its end.
    """
    name = call.params["filename"]
    # ``If-None-Match: *`` is a 304 only if the file exists already (RFC 9110, 13.1.2).
    is_not_modified = has_if_none_match_star(call.request) and call.app.bulk_files.has(name, _get_data_stamp(call))
    built_file, stream = open_file(call, name, "filename")
    headers = {"ETag": f'"{built_file.sha256}"', "Cache-Control": "private, no-cache", "Accept-Ranges": "bytes"}
    if (
        is_not_modified
        or find_matching_etag(call.request.headers.get("if-none-match", ""), built_file.sha256) is not None
    ):
        stream.close()
        return Response(304, b"", headers=headers)
    try:
        byte_range = _find_requested_range(call, built_file)
    except ApiError:
        stream.close()
        raise
    settle_file(call, name)
    headers["Content-Disposition"] = f'attachment; filename="{name}"'
    status, byte_count = 200, built_file.size
    if byte_range is not None:
        status, byte_count = 206, byte_range.byte_count
        headers["Content-Range"] = f"bytes {byte_range.first}-{byte_range.last}/{built_file.size}"
        stream.seek(byte_range.first)
    if call.request.method == "HEAD":
        stream.seek(0, SEEK_END)
    headers["Content-Length"] = str(byte_count)
    # A file that was built again may be the version that the caller has paid for.
    is_free = byte_range is not None and _has_purchased(call, built_file)
    export = FileExport(stream, byte_count, _record_purchase(call, built_file))
    # Some generators of clients know no other type of bytes than octet-stream.
    media_type = call.request.find_preferred_type((GZIP_MEDIA_TYPE, BINARY_MEDIA_TYPE)) or GZIP_MEDIA_TYPE
    return Response(status, b"", media_type, headers, stream=export, is_compressed=True, is_free=is_free)


def is_free_range(call: Call) -> bool:
    """Return True for a range of a file that the caller has paid for within a day: it resumes that download.

    This is not known of a file that must be built again. The handler then refunds the call if the hash is the same.
    """
    built_file = call.app.bulk_files.find_file(call.params["filename"], _get_data_stamp(call))
    if built_file is None or not _has_purchased(call, built_file):
        return False
    try:
        return _find_requested_range(call, built_file) is not None
    except ApiError:
        return True  # The handler raises the 416, which is free for every caller.


def _find_requested_range(call: Call, built_file: BuiltFile) -> ByteRange | None:
    if call.request.method != "GET":  # RFC 9110, 14.2: ranges are defined for GET only.
        return None
    return find_range(call.request.headers, built_file.size, f'"{built_file.sha256}"')


def _has_purchased(call: Call, built_file: BuiltFile) -> bool:
    return call.app.bulk_files.has_purchased(_build_account_key(call), built_file.sha256)


def _record_purchase(call: Call, built_file: BuiltFile) -> Callable[[], None] | None:
    """Record that the caller pays for a file, so that its ranges are free for a day.

    Return the function that forgets this if the call is refunded, or None for a call that resumes a paid download.
    """
    files, account, sha256 = call.app.bulk_files, _build_account_key(call), built_file.sha256
    if call.request.method == "HEAD" or _has_purchased(call, built_file):
        return None
    files.record_purchase(account, sha256)
    return lambda: files.forget_purchase(account, sha256)


def open_file(call: Call, name: str, param: str) -> tuple[BuiltFile, IO[bytes]]:
    """Open a file. Build it first if necessary. Return its description and the stream.

    Raise ApiError: 400 for an impossible period or one with too many rows, 404 for a file without rows, 503 while
    another call builds it, 429 for a caller that let too many files be built without paying for them.
    """
    dataset, period_text, kind = _split_name(name)
    period = _parse_period(period_text, call, param)

    def build_pieces() -> Iterator[tuple[bytes, int]]:
        return _iter_pieces(call.app, DATASETS[dataset], period, MEDIA_TYPE_BY_KIND[kind])

    built_file, stream = call.app.bulk_files.open_file(
        name, _get_data_stamp(call), build_pieces, _build_account_key(call)
    )
    if built_file.too_long:
        message = f"{name} would have too many rows; request a shorter period."
        raise invalid_param(param, message, expected="a shorter period")
    if stream is None:
        days = f"on {period.first}" if period.first == period.last else f"from {period.first} to {period.last}"
        raise ApiError("NOT_FOUND", f"finapi has no {dataset} filed {days}.")
    return built_file, stream


def settle_file(call: Call, name: str) -> None:
    """Record that the caller pays for a file, so that its build does not count in the CPU allowance of unpaid calls."""
    call.app.bulk_files.settle(name, _build_account_key(call))


def _get_data_stamp(call: Call) -> str:
    return call.caller.data_stamp if call.caller else ""


def _build_account_key(call: Call) -> tuple[str, int]:
    """Return the caller's key in the CPU allowance for refunded calls."""
    return "user", call.user_id


def _parse_period(text: str, call: Call, param: str) -> FiledPeriod:
    try:
        period = bulk_datasets.parse_period(text)
    except ValueError:
        raise invalid_param(param, f"There is no such period: {text}.", expected=FILE_NAME_HELP) from None
    if not bulk_datasets.has_begun(period, call.now):
        raise ApiError("NOT_FOUND", f"The period {text} has not begun.")
    return period


def _split_name(name: str) -> tuple[str, str, str]:
    """Return dataset, period and format of a file name."""
    stem, kind, _ = name.rsplit(".", 2)
    dataset = next(dataset_name for dataset_name in DATASETS if stem.startswith(f"{dataset_name}-"))
    return dataset, stem.removeprefix(f"{dataset}-"), kind


def _list_files(call: Call, dataset: str | None) -> list[PeriodFile]:
    return [
        _build_period_file(name, built_file)
        for name, built_file in call.app.bulk_files.list_files()
        if dataset in (None, _split_name(name)[0])
    ]


def _build_shard(position: int, period_file: PeriodFile) -> FactsShard:
    path = f"{API}/xbrl/bulk/facts/{period_file['filename']}"
    return {**period_file, "shard_index": position, "filing_id_lo": None, "filing_id_hi": None, "download_path": path}


def _build_period_file(name: str, built_file: BuiltFile) -> PeriodFile:
    dataset, period_text, kind = _split_name(name)
    period = bulk_datasets.parse_period(period_text)
    is_over = bulk_datasets.is_over(period, built_file.built_at)
    return {
        "dataset": dataset,
        "filename": name,
        "format": "csv" if kind == "csv" else "ndjson",
        "first_day": period.first.isoformat(),
        "last_day": period.last.isoformat(),
        "complete": is_over,
        "reason": None if is_over else f"made before the end of {period.last}",
        "row_count": built_file.rows,
        "byte_size": built_file.size,
        "sha256": built_file.sha256,
        "generated_at": iso(built_file.built_at),
        "download_path": f"{API}/xbrl/bulk/{name}",
    }


def _iter_pieces(app: App, dataset: Dataset, period: FiledPeriod, kind: str) -> Iterator[tuple[bytes, int]]:
    """Yield the table in pieces, each with its number of rows. All are read in one transaction."""
    with app.db.read() as tx:
        rows, is_first = bulk_datasets.iter_rows(tx, dataset, period), True
        while batch := [dict(row) for row in islice(rows, BATCH_ROWS)]:
            for piece in iter_table_chunks(kind, dataset.columns, batch, with_header=is_first):
                yield piece, len(batch)
            is_first = False
