"""Files of the insiders' forms of a month: those that have been made, where one is fetched, and making one."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal, TypedDict

from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.core.records import Time, Url
from finapi.store.file_cache import BuiltFile, FileNotReadyError
from finapi.web.bulk import open_file, settle
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.route import API

FORMS = ("3", "4", "5", "144")
_NAME = re.compile(r"form-([0-9]+)-([0-9]{4})-([0-9]{2})[.](?:csv|ndjson)[.]gz", re.ASCII)


class MonthFile(TypedDict):
    """A file of a month that has been made."""

    year: int
    month: int
    filename: str
    row_count: int
    size_bytes: int
    sha256: str
    generated_at: Time


class MonthIndex(TypedDict):
    """The files of months that have been made of a form and are kept."""

    form_type: str
    files: list[MonthFile]


class MonthLink(TypedDict):
    """Where a file is fetched, with the key and for tokens as any call. ``expires_at`` is null: the URL stays."""

    download_url: Url
    filename: str
    row_count: int
    size_bytes: int
    sha256: str
    expires_at: None


class MonthJob(TypedDict):
    """The making of a file. ``estimated_seconds`` is 0 when it is there and null, as nobody knows, while it is made."""

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


def index(call: Call) -> Response:
    """The files of months that have been made of a form, by name."""
    form = call.params["form_type"]
    found = ((_NAME.fullmatch(name), made) for name, made in call.app.bulk_files.list_files())
    files = [_month_file(parts, made) for parts, made in found if parts is not None and parts[1] == form]
    answer: MonthIndex = {"form_type": form, "files": files}
    return call.bare_object(answer)


def file(call: Call) -> Response:
    """Where the file of a month is fetched, which is made now if it is not there."""
    name, form, year = call.params["filename"], call.params["form_type"], call.params["year"]
    if not name.startswith(f"form-{form}-{year}-"):
        raise ApiError("NOT_FOUND", f"{name} is not of form {form} and the year {year}.")
    made, opened = open_file(call, name, "filename")
    opened.close()
    settle(call, name)
    answer: MonthLink = {
        "download_url": f"{call.app.config.public_url}{API}/xbrl/bulk/{name}",
        "filename": name,
        "row_count": made.rows,
        "size_bytes": made.size,
        "sha256": made.sha256,
        "expires_at": None,
    }
    return call.bare_object(answer)


def generate(call: Call) -> Response:
    """Make the CSV of a month; of calls at once one does, and the others are told since when."""
    job = f"form-{call.params['form_type']}-{call.params['year']}-{call.params['month']:02}"
    name = f"{job}.csv.gz"
    try:
        made, opened = open_file(call, name, "month")
    except FileNotReadyError as being:
        if being.name != name:
            raise
        settle(call, name)
        return call.bare_object(_job(job, being.began, done=False))
    opened.close()
    settle(call, name)
    return call.bare_object(_job(job, made.built_at, done=True))


def _job(job: str, when: datetime, *, done: bool) -> MonthJob:
    return {
        "job_id": job,
        "queued_at": iso(when),
        "estimated_seconds": 0 if done else None,
        "status": "completed" if done else "running",
    }


def _month_file(parts: re.Match[str], made: BuiltFile) -> MonthFile:
    return {
        "year": int(parts[2]),
        "month": int(parts[3]),
        "filename": parts[0],
        "row_count": made.rows,
        "size_bytes": made.size,
        "sha256": made.sha256,
        "generated_at": iso(made.built_at),
    }
