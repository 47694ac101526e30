"""A recorded stretch of EDGAR's feed, played through the poller at some speed: for demos and tests.

A recording is a folder of the feed's pages as they were answered, ``getcurrent_20251212T180331_start100.atom``:
when (in New York), and with which ``start``. Other files are found by their path at the SEC (``Archives/...``).
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

_PAGE = re.compile(r"getcurrent_([0-9]{8}T[0-9]{6})_start([0-9]{1,6})\.atom")
_MARK = "replay_read_to"


class Recording:
    """EDGAR as a folder recorded it; ``moment`` says which pages it answers with now."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: dict[int, dict[datetime, Path]] = {}
        for file in sorted(folder.glob("getcurrent_*.atom")):
            found = _PAGE.fullmatch(file.name)
            if found:
                moment = datetime.strptime(found[1], "%Y%m%dT%H%M%S")
                self._pages.setdefault(int(found[2]), {})[moment] = file
        self.moments = sorted({moment for pages in self._pages.values() for moment in pages})
        if not self.moments:
            raise UsageError(f"{folder} contains no recorded page of the feed (getcurrent_TIME_startN.atom)")
        self.moment = self.moments[0]

    def get(self, host: Host, path: str, *, conditional: bool = False, may_fail: bool = False) -> FetchResult:
        """What EDGAR answered at that moment; ``missing`` for what was not recorded."""
        parts = urlsplit(path)
        if parts.path == "/cgi-bin/browse-edgar":
            start = int(parse_qs(parts.query)["start"][0])
            file = self._pages.get(start, {}).get(self.moment)
        else:
            file = self._folder / parts.path.lstrip("/")
        if file is None or not file.is_file():
            return FetchResult("missing", path)
        with file.open("rb") as opened:
            return FetchResult("found", str(file), read_bounded(opened, MAX_DOCUMENT_BYTES, file.stat().st_size))


def play(app: App, folder: Path, speed: float, pause: Callable[[float], None]) -> PollCounts:
    """Play a recording through the poller, ``speed`` times as fast as it happened; what it brought.

    ``pause`` waits, and raises when there is no use in going on. A replay begins at the beginning each time;
    filings that are held already are news to nobody.
    """
    recording = Recording(folder)
    with app.db.write() as tx:
        tx.run("delete_poll_state", name=_MARK)
    poller = Poller(app, recording, interval_seconds=0.0, watermark=_MARK)
    for before, moment in zip([recording.moments[0], *recording.moments], recording.moments, strict=False):
        pause((moment - before).total_seconds() / speed)
        recording.moment = moment
        poller.read_feed()
        poller.fetch_due_documents()
    return poller.counts
