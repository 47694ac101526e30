"""The frame of every page: its head, the way to the others, its foot, and headers that let nothing else in."""

from __future__ import annotations

from collections.abc import Sequence

from finapi import __version__
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.web.html import static_files
from finapi.web.html.tags import NOTHING, Child, Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response

HTML = "text/html; charset=utf-8"

# Nothing is loaded from elsewhere and nothing stands in line; no other site frames a page or learns of it.
_POLICY = (
    "default-src 'none'; style-src 'self'; {}img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": _POLICY.format("script-src 'self'; connect-src 'self'; "),
    # Other hosts are told nothing; with "no-referrer" a browser sends this host's own forms from the origin "null".
    "Referrer-Policy": "same-origin",
}
# Of pages whose address holds a secret: no script may read it.
SECRET_PAGE_HEADERS = {"Content-Security-Policy": _POLICY.format(""), "Referrer-Policy": "no-referrer"}

# Where the head of every page leads: those that show data first.
DATA_LINKS = (("/filings", "Filings"), ("/screen", "Screen"))
SITE_LINKS = (("/status", "Status"), ("/plans", "Plans"), ("/docs", "Docs"), ("/account", "Account"))

SEARCH_LABEL = "Company, ticker or CIK"


def render_page(
    call: Call,
    title: str,
    *body: Child,
    status: int = 200,
    wide: bool = False,
    feed: str = "",
    scripts: Sequence[str] = (),
    secret: bool = False,
    search: bool = True,
) -> Response:
    """A page as an answer: ``title`` is its name and its first heading, unless the body brings an ``h1``.

    ``feed`` is the path of its feed; ``scripts`` are modules of ``static/``; ``secret`` says that its address holds
    a token: no script runs there, and nothing leads a browser to ask for more than the page.
    """
    config, path = call.app.config, call.request.path
    data = render_document(
        config, title, *body, path=path, wide=wide, feed=feed, scripts=scripts, secret=secret, search=search
    )
    return build_html_response(data, status, secret=secret)


def render_document(
    config: Config,
    title: str,
    *body: Child,
    path: str = "",
    wide: bool = False,
    feed: str = "",
    scripts: Sequence[str] = (),
    secret: bool = False,
    search: bool = True,
) -> bytes:
    """The bytes of a page, as :func:`page` answers it; without ``search`` when the body has its own."""
    inside = join_html(*body)
    heading = NOTHING if "<h1" in inside else h.h1(title)
    named = title if title == "finapi" else f"{title} - finapi"
    may_search = config.pages != "off" and not secret
    modules = (*(["search.js"] if may_search else []), *scripts)
    kind = "application/atom+xml" if feed.endswith(".atom") else "application/rss+xml"
    head = h.head(
        h.meta(charset="utf-8"),
        h.meta(name="viewport", content="width=device-width, initial-scale=1"),
        h.title(named),
        h.link(rel="stylesheet", href=static_files.get_static_url("style.css")),
        h.link(rel="icon", href=static_files.get_static_url("favicon.svg"), type="image/svg+xml"),
        feed and h.link(rel="alternate", type=kind, title=title, href=feed),
        [h.script(type="module", src=static_files.get_static_url(name)) for name in modules],
    )
    shown = h.body(
        h.a("Skip to content", href="#main", class_="skip"),
        _top(config, path, render_search_form() if search and may_search else None),
        h.main(heading, inside, id="main", class_="wide" if wide else None),
        _foot(),
    )
    return b"<!doctype html>" + h.html(head, shown, lang="en").encode() + b"\n"


def build_html_response(data: bytes, status: int = 200, *, secret: bool = False) -> Response:
    """The bytes of a page as an answer."""
    return Response(status, data, HTML, dict(SECRET_PAGE_HEADERS if secret else PAGE_HEADERS))


def render_error_page(config: Config, error: ApiError, path: str, request_id: str) -> Response:
    """What a browser is shown instead of a page: what went wrong, and a way on."""
    body = (
        h.p(error.message, role="alert"),
        config.pages != "off" and render_search_form(),
        h.p("When reporting this, include request ", h.code(request_id), ".", class_="quiet"),
    )
    return build_html_response(
        render_document(config, ERROR_TITLES.get(error.status, "Error"), *body, path=path, search=False), error.status
    )


ERROR_TITLES = {
    400: "Invalid request",
    401: "Sign in",
    402: "Out of tokens",
    403: "Not allowed",
    404: "Not found",
    429: "Too many requests",
    503: "Busy",
}


def render_problem_page(call: Call, title: str, message: str, status: int, *more: Child) -> Response:
    """A page that says what is wrong, for an address that holds a secret."""
    return render_page(call, title, h.p(message, role="alert", id="problem"), *more, status=status, secret=True)


def render_search_form(text: str = "", *, autofocus: bool = False) -> Html:
    """The search for companies: a form, to which the script adds suggestions."""
    return h.form(
        h.label(SEARCH_LABEL, for_="q", class_="unseen"),
        h.input(
            id="q",
            name="q",
            type="search",
            value=text or None,
            placeholder=SEARCH_LABEL,
            required=True,
            maxlength=100,
            autocomplete="off",
            spellcheck="false",
            autofocus=autofocus,
        ),
        h.button("Search"),
        action="/search",
        role="search",
        class_="search",
    )


def _top(config: Config, path: str, search: Html | None) -> Html:
    places = (*(DATA_LINKS if config.pages != "off" else ()), *SITE_LINKS)
    links = [h.a(name, href=place, aria_current=_current(path, place)) for place, name in places]
    brand = h.a("finapi", href="/", class_="brand", aria_current="page" if path == "/" else None)
    return h.header(h.div(brand, search, h.nav(links, aria_label="Pages")), class_="top")


def _current(path: str, place: str) -> str | None:
    return "page" if path == place else "true" if path.startswith(place + "/") else None


def _foot() -> Html:
    changes = h.a("what changed", href="/changelog")
    return h.footer(h.p(f"finapi {__version__}: ", changes), h.p("Derived from SEC filings. Not advice."))
