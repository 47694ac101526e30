"""Files of all that was filed in a day, a month or a quarter: which have been made, and each as it lies there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from finapi.web.http.messages import BINARY_MEDIA_TYPE, Response, find_matching_etag, has_if_none_match_star
from finapi.web.http.params import Param
from finapi.web.http.route import API
from finapi.web.http.schema import Envelope
from finapi.web.http.tables import CSV, NDJSON, iter_table_chunks

FORMAT = "csv.gz, ndjson.gz"
KINDS = {"csv": CSV, "ndjson": NDJSON}
BATCH = 1_000  # rows in memory at a time
CHUNK = 1 << 18  # bytes of a file that are read at a time

NAME = rf"(?:{'|'.join(DATASETS)})-{bulk_datasets.PERIOD_PATTERN}\.(?:csv|ndjson)\.gz"
EXPECTED = "DATASET-PERIOD.csv.gz or .ndjson.gz, PERIOD a day (2026-01-30), month (2026-01) or quarter (2026q1)"


class PeriodFile(TypedDict):
    """A file that has been made. ``complete`` says that its period was over by then, else ``reason`` says why not."""

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


class _Made(TypedDict):
    """What both indexes say of the files there are; ``snapshot``: when the newest was made."""

    snapshot: Time | None
    generated_at: Time
    api_version: str
    format: str
    file_count: int
    total_rows: int


class BulkIndex(_Made):
    """The files there are; of every other period one is made when it is asked for."""

    datasets: list[str]
    files: list[PeriodFile]


class FactsShard(PeriodFile):
    """A file of facts that has been made, and its place among them.

    Files are cut by day of filing, so that there is no range of filings' ids: both ends are null.
    """

    shard_index: int
    filing_id_lo: None
    filing_id_hi: None


class FactsIndex(_Made):
    """The files of facts there are; of every other period one is made when it is asked for."""

    dataset: str
    shards_total: int
    files: list[FactsShard]


class BulkMeta(TypedDict):
    """When the newest file was made, how many bytes all may have, and what a name is made of."""

    snapshot: Time | None
    bytes_kept: int
    filename: str


class _FileChunks:
    """The bytes of an open file; closed also when none of them was taken, which a generator would not see."""

    def __init__(self, opened: IO[bytes]) -> None:
        self._opened = opened
        self.close = opened.close

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if chunk := self._opened.read(CHUNK):
            return chunk
        raise StopIteration


class FileExport(StreamedExport):
    """The body of a response that is a file. A server that can send it does so from where it is, without a copy."""

    def __init__(self, opened: IO[bytes]) -> None:
        resources = ExitStack()
        resources.callback(opened.close)
        super().__init__(_FileChunks(opened), resources)
        self._opened = opened

    def start(self, environ: dict[str, Any]) -> Iterable[bytes]:
        """Return the body for the server that made ``environ``: wrapped (PEP 3333, wsgi.file_wrapper) if it can."""
        chunks = super().start(environ)
        wrap_file = environ.get("wsgi.file_wrapper")
        if wrap_file is None or not self.end_when_sent():
            return chunks
        wrapped: Iterable[bytes] = wrap_file(self._opened, CHUNK)
        return wrapped


INDEX = Envelope[BulkIndex, BulkMeta]
INDEX_PARAMS = (Param("dataset", allowed=tuple(DATASETS), help="Only files of this dataset.", example="form-4"),)
FILE_PARAMS = (
    Param(
        "filename",
        location="path",
        required=True,
        pattern=NAME,
        help=f"{EXPECTED}.",
        example="form-4-2025-01-10.csv.gz",
    ),
)


FACTS = Envelope[FactsIndex, BulkMeta]
FACTS_PARAMS = (
    Param(
        "filename",
        location="path",
        required=True,
        pattern=NAME.replace("|".join(DATASETS), "facts"),
        help="facts-PERIOD.csv.gz or .ndjson.gz, PERIOD as in 2026-01-30, 2026-01 or 2026q1.",
        example="facts-2025-01.csv.gz",
    ),
)


def index(call: Call) -> Response:
    """The files that have been made and are kept, by name."""
    return _told(call, _files(call, call.params["dataset"]), datasets=[*DATASETS])


def facts(call: Call) -> Response:
    """The files of facts that have been made and are kept, by name."""
    shards = [_shard(place, one) for place, one in enumerate(_files(call, "facts"))]
    return _told(call, shards, dataset="facts", shards_total=len(shards))


def _told(call: Call, files: Sequence[PeriodFile], **own: Any) -> Response:
    """An index of files, with the members that it alone has."""
    snapshot = max((one["generated_at"] for one in files), default=None)
    made: _Made = {
        "snapshot": snapshot,
        "generated_at": iso(call.now),
        "api_version": "v1",
        "format": FORMAT,
        "file_count": len(files),
        "total_rows": sum(one["row_count"] for one in files),
    }
    meta: BulkMeta = {"snapshot": snapshot, "bytes_kept": call.app.config.bulk_bytes, "filename": EXPECTED}
    return call.success({**made, **own, "files": files}, meta)


def file(call: Call) -> Response:
    """The file of a name, made now if it is not there or is of data that have changed; 304 for who has it."""
    name = call.params["filename"]
    # A file that has to be made first is none that the server has (RFC 9110, 13.1.2).
    is_any_held = has_if_none_match_star(call.request) and call.app.bulk_files.has(name, _stamp_of(call))
    made, opened = open_file(call, name, "filename")
    tag = f'"{made.sha256}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if is_any_held or find_matching_etag(call.request.headers.get("if-none-match", ""), made.sha256) is not None:
        opened.close()
        return Response(304, b"", headers=headers)
    settle(call, name)
    if call.request.method == "HEAD":
        opened.seek(0, SEEK_END)
    headers |= {"Content-Disposition": f'attachment; filename="{name}"', "Content-Length": str(made.size)}
    return Response(200, b"", BINARY_MEDIA_TYPE, headers, stream=FileExport(opened), is_compressed=True)


def open_file(call: Call, name: str, param: str) -> tuple[BuiltFile, IO[bytes]]:
    """Open the file of a name, which is made now if need be.

    Raise 400 for the parameter that names an impossible file, 404 for a file without rows, 503 while it is being made,
    and 429 for a caller that had too many files made and did not pay for them.
    """
    dataset, text, kind = _parts(name)
    period = _period(text, call, param)

    def make() -> Iterator[tuple[bytes, int]]:
        return _pieces(call.app, DATASETS[dataset], period, KINDS[kind])

    made, opened = call.app.bulk_files.open_file(name, _stamp_of(call), make, _account_of(call))
    if made.too_long:
        raise invalid_param(param, f"{name} would be too long a file.", expected="a shorter period")
    if opened is None:
        days = f"on {period.first}" if period.first == period.last else f"from {period.first} to {period.last}"
        raise ApiError("NOT_FOUND", f"Nothing of {dataset} that is held was filed {days}.")
    return made, opened


def settle(call: Call, name: str) -> None:
    """Note that the caller pays for a file that it may have had made."""
    call.app.bulk_files.settle(name, _account_of(call))


def _stamp_of(call: Call) -> str:
    return call.caller.data_stamp if call.caller else ""


def _account_of(call: Call) -> tuple[str, int]:
    """The key of the caller in the allowance for refunded calls."""
    return "user", call.user_id


def _period(text: str, call: Call, param: str) -> FiledPeriod:
    try:
        period = bulk_datasets.parse_period(text)
    except ValueError:
        raise invalid_param(param, f"There is no such period: {text}.", expected=EXPECTED) from None
    if not bulk_datasets.has_begun(period, call.now):
        raise ApiError("NOT_FOUND", f"The period {text} has not begun.")
    return period


def _parts(name: str) -> tuple[str, str, str]:
    """Dataset, period and kind of a file name."""
    stem, kind, _ = name.rsplit(".", 2)
    dataset = next(one for one in DATASETS if stem.startswith(f"{one}-"))
    return dataset, stem.removeprefix(f"{dataset}-"), kind


def _files(call: Call, dataset: str | None) -> list[PeriodFile]:
    return [
        _listed(name, made) for name, made in call.app.bulk_files.list_files() if dataset in (None, _parts(name)[0])
    ]


def _shard(place: int, one: PeriodFile) -> FactsShard:
    path = f"{API}/xbrl/bulk/facts/{one['filename']}"
    return {**one, "shard_index": place, "filing_id_lo": None, "filing_id_hi": None, "download_path": path}


def _listed(name: str, made: BuiltFile) -> PeriodFile:
    dataset, text, kind = _parts(name)
    period = bulk_datasets.parse_period(text)
    over = bulk_datasets.is_over(period, made.built_at)
    return {
        "dataset": dataset,
        "filename": name,
        "format": "csv" if kind == "csv" else "ndjson",
        "first_day": period.first.isoformat(),
        "last_day": period.last.isoformat(),
        "complete": over,
        "reason": None if over else f"made before the end of {period.last}",
        "row_count": made.rows,
        "byte_size": made.size,
        "sha256": made.sha256,
        "generated_at": iso(made.built_at),
        "download_path": f"{API}/xbrl/bulk/{name}",
    }


def _pieces(app: App, dataset: Dataset, period: FiledPeriod, kind: str) -> Iterator[tuple[bytes, int]]:
    """The table in pieces, all of one moment of the data, each with the number of its rows."""
    with app.db.read() as tx:
        rows, head = bulk_datasets.iter_rows(tx, dataset, period), True
        while batch := [dict(row) for row in islice(rows, BATCH)]:
            for piece in iter_table_chunks(kind, dataset.columns, batch, with_header=head):
                yield piece, len(batch)
            head = False
