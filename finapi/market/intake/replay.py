"""Replay of a recorded stretch of EDGAR's feed through the poller, at any speed, for demos and tests.

A recording is a folder with the feed's pages as EDGAR sent them, named by their time in New York and their first entry:
``getcurrent_20251212T180331_start100.atom``. Other files are stored under their path at the SEC (``Archives/...``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from finapi.app import App
from finapi.core.errors import UsageError
from finapi.core.files import read_bounded
from finapi.market.documents.sources import MAX_DOCUMENT_BYTES
from finapi.market.intake.gateway import FetchResult, Host
from finapi.market.intake.poller import PollCounts, Poller

_PAGE_NAME = re.compile(r"getcurrent_([0-9]{8}T[0-9]{6})_start([0-9]{1,6})\.atom")
_WATERMARK = "replay_read_to"


class Recording:
    """A source that returns EDGAR's pages as they were recorded at the time ``moment``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: dict[int, dict[datetime, Path]] = {}
        for file in sorted(folder.glob("getcurrent_*.atom")):
            match = _PAGE_NAME.fullmatch(file.name)
            if match:
                moment = datetime.strptime(match[1], "%Y%m%dT%H%M%S")
                self._pages.setdefault(int(match[2]), {})[moment] = file
        self.moments = sorted({moment for pages in self._pages.values() for moment in pages})
        if not self.moments:
            raise UsageError(f"{folder} contains no recorded page of the feed (getcurrent_TIME_startN.atom)")
        self.moment = self.moments[0]

    def get(self, host: Host, path: str, *, conditional: bool = False, may_fail: bool = False) -> FetchResult:
        """Return EDGAR's reply at ``moment``, or the result ``missing`` if it was not recorded."""
        parts = urlsplit(path)
        file: Path | None
        if parts.path == "/cgi-bin/browse-edgar":
            start = int(parse_qs(parts.query)["start"][0])
            file = self._pages.get(start, {}).get(self.moment)
        else:
            file = self._folder / parts.path.lstrip("/")
        if file is None or not file.is_file():
            return FetchResult("missing", path)
        with file.open("rb") as stream:
            body = read_bounded(stream, MAX_DOCUMENT_BYTES, file.stat().st_size)
        return FetchResult("found", str(file), body)


def play(app: App, folder: Path, speed: float, pause: Callable[[float], None]) -> PollCounts:
    """Play a recording through the poller, ``speed`` times as fast as it was recorded. Return the poller's counts.

    ``pause`` waits for some seconds, and raises if the replay should end. Each replay starts at the beginning; filings
    that are stored already are not announced again.
    """
    recording = Recording(folder)
    with app.db.write() as tx:
        tx.run("delete_poll_state", name=_WATERMARK)
    poller = Poller(app, recording, interval_seconds=0.0, watermark=_WATERMARK)
    previous_moment = recording.moments[0]
    for moment in recording.moments:
        pause((moment - previous_moment).total_seconds() / speed)
        previous_moment = moment
        recording.moment = moment
        poller.read_feed()
        poller.fetch_due_documents()
    return poller.counts
