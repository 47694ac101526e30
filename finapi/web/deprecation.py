"""Routes that are going away, and the headers by which they say so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Since when a route is deprecated, when it stops answering (both UTC), and what to call instead.

    ``successor`` is a path of this API; None where nothing takes its place and the changelog says why.
    """

    since: datetime
    sunset: datetime
    successor: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """``Deprecation`` (RFC 9745), ``Sunset`` (RFC 8594) and ``Link`` to the changelog and the successor."""
        links = ['</changelog>; rel="deprecation"; type="text/html"']
        if self.successor is not None:
            links.append(f'<{self.successor}>; rel="successor-version"')
        return {
            "Deprecation": f"@{int(self.since.timestamp())}",
            "Sunset": format_datetime(self.sunset, usegmt=True),
            "Link": ", ".join(links),
        }
