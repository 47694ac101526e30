"""Monthly bulk files of insider forms under the paths that existing clients call.

Three routes list the built monthly files, return the URL of a file, and build a file. ``web/bulk.py`` writes them.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal, TypedDict

from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.core.records import Time, Url
from finapi.store.file_cache import BuiltFile, FileNotReadyError
from finapi.web.bulk import open_file, settle_file
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.route import API

FORMS = ("3", "4", "5", "144")
_MONTH_FILE_NAME = re.compile(r"form-([0-9]+)-([0-9]{4})-([0-9]{2})[.](?:csv|ndjson)[.]gz", re.ASCII)


class MonthFile(TypedDict):
    """A built file of a month."""

    year: int
    month: int
    filename: str
    row_count: int
    size_bytes: int
    sha256: str
    generated_at: Time


class MonthIndex(TypedDict):
    """The built monthly files of a form."""

    form_type: str
    files: list[MonthFile]


class MonthLink(TypedDict):
    """The URL of a file. It needs a key and costs tokens like any call, and never expires."""

    download_url: Url
    filename: str
    row_count: int
    size_bytes: int
    sha256: str
    expires_at: Time | None


class MonthJob(TypedDict):
    """The job that builds a file. ``estimated_seconds`` is 0 for a built file, and null while it is being built."""

    job_id: str
    queued_at: Time
    estimated_seconds: int | None
    status: Literal["running", "completed"]


_FORM = Param("form_type", location="path", required=True, allowed=FORMS, help="A form.", example="4")
_YEAR = Param(
    "year", "integer", "path", required=True, minimum=1900, maximum=2099, help="A year of filing.", example="2025"
)
_MONTH = Param("month", "integer", "path", required=True, minimum=1, maximum=12, help="A month of it.", example="1")
INDEX_PARAMS = (_FORM,)
FILE_PARAMS = (
    _FORM,
    _YEAR,
    Param(
        "filename",
        location="path",
        required=True,
        pattern=r"form-(?:3|4|5|144)-(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])\.(?:csv|ndjson)\.gz",
        help="form-FORM-YEAR-MONTH.csv.gz or .ndjson.gz of the same form and year.",
        example="form-4-2025-01.csv.gz",
    ),
)
GENERATE_PARAMS = (_FORM, _YEAR, _MONTH)


def list_month_files(call: Call) -> Response:
    """Return the built monthly files of a form, by name."""
    form = call.params["form_type"]
    matches = ((_MONTH_FILE_NAME.fullmatch(name), built_file) for name, built_file in call.app.bulk_files.list_files())
    files = [
        _build_month_file(parts, built_file) for parts, built_file in matches if parts is not None and parts[1] == form
    ]
    answer: MonthIndex = {"form_type": form, "files": files}
    return call.bare_object(answer)


def get_month_file(call: Call) -> Response:
    """Return the URL of a monthly file, which is built first if necessary."""
    name = call.params["filename"]
    form = call.params["form_type"]
    year = call.params["year"]
    if not name.startswith(f"form-{form}-{year}-"):
        raise ApiError("NOT_FOUND", f"{name} is not of form {form} and the year {year}.")
    built_file, stream = open_file(call, name, "filename")
    stream.close()
    settle_file(call, name)
    answer: MonthLink = {
        "download_url": f"{call.app.config.public_url}{API}/xbrl/bulk/{name}",
        "filename": name,
        "row_count": built_file.rows,
        "size_bytes": built_file.size,
        "sha256": built_file.sha256,
        "expires_at": None,
    }
    return call.bare_object(answer)


def generate_month_file(call: Call) -> Response:
    """Build the CSV file of a month. While another call builds it, return the time at which that call began."""
    job_id = f"form-{call.params['form_type']}-{call.params['year']}-{call.params['month']:02}"
    name = f"{job_id}.csv.gz"
    try:
        built_file, stream = open_file(call, name, "month")
    except FileNotReadyError as not_ready_error:
        if not_ready_error.name != name:
            raise
        settle_file(call, name)
        return call.bare_object(_build_job(job_id, not_ready_error.began, is_done=False))
    stream.close()
    settle_file(call, name)
    return call.bare_object(_build_job(job_id, built_file.built_at, is_done=True))


def _build_job(job_id: str, queued_at: datetime, *, is_done: bool) -> MonthJob:
    return {
        "job_id": job_id,
        "queued_at": iso(queued_at),
        "estimated_seconds": 0 if is_done else None,
        "status": "completed" if is_done else "running",
    }


def _build_month_file(parts: re.Match[str], built_file: BuiltFile) -> MonthFile:
    return {
        "year": int(parts[2]),
        "month": int(parts[3]),
        "filename": parts[0],
        "row_count": built_file.rows,
        "size_bytes": built_file.size,
        "sha256": built_file.sha256,
        "generated_at": iso(built_file.built_at),
    }
