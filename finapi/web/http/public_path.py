"""The path of the public URL, such as ``/finapi`` of ``https://example.com/finapi``, behind a proxy for one folder.

Routes, pages and redirects use paths without it. The server removes it from the target of each request that has it
(``httpd.request_parser``), so a proxy may pass it on or remove it. The functions here put it before the paths in
answers, in the last step. Absolute URLs begin with ``public_url``, which has it already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from finapi.core.errors import UsageError

# A path of this host in an element's URL. Texts and attributes contain no "<", ">" or '"', which are escaped.
_PATH_IN_PAGE = re.compile(rb'(<[a-z][^<>]* (?:href|src|action|formaction|data-from)=")/(?!/)')
# [text](/path), but no code such as `f"[{name}](/x)"` over several lines.
_PATH_IN_MARKDOWN = re.compile(r"(\]\()/(?!/)")
_PATH_IN_LINK_HEADER = re.compile("<(?=/(?!/))")


def check_public_path(public_path: str, paths: Iterable[str]) -> None:
    """Raise UsageError if the path begins like one of finapi's ``paths``, so that both could not be told apart."""
    first_names = {path.split("/")[1] for path in paths} - {""}
    if public_path and public_path.split("/")[1] in first_names:
        raise UsageError(
            f"setting public_url: its path must not begin like a path of finapi itself: {public_path}; use another, "
            f"such as /finapi"
        )


def prefix_page(document: bytes, public_path: str) -> bytes:
    """Return a page whose links, forms and files lead to paths below ``public_path``."""
    if not public_path:
        return document
    return _PATH_IN_PAGE.sub(rb"\1" + public_path.encode() + b"/", document)


def prefix_markdown(text: str, public_path: str) -> str:
    """Return Markdown whose links lead to paths below ``public_path``."""
    return _PATH_IN_MARKDOWN.sub(rf"\1{public_path}/", text) if public_path else text


def prefix_headers(headers: dict[str, str], public_path: str) -> None:
    """Put ``public_path`` before the paths in ``Location`` and ``Link``."""
    if not public_path:
        return
    if headers.get("Location", "").startswith("/"):
        headers["Location"] = public_path + headers["Location"]
    if "Link" in headers:
        headers["Link"] = _PATH_IN_LINK_HEADER.sub(f"<{public_path}", headers["Link"])
