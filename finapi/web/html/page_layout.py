"""The layout of every page: head, header with links, footer, and HTTP headers against attacks from other sites."""

from __future__ import annotations

from collections.abc import Sequence

from finapi import __version__
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.web.html import static_files
from finapi.web.html.tags import NOTHING, Child, Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.public_path import prefix_page

HTML = "text/html; charset=utf-8"

# A page loads nothing from other hosts, has no inline scripts or styles, and cannot be framed by another site.
_POLICY = (
    "default-src 'none'; style-src 'self'; {}img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": _POLICY.format("script-src 'self'; connect-src 'self'; "),
    # Other hosts get no referrer. With "no-referrer" a browser would send this host's own forms with the origin "null".
    "Referrer-Policy": "same-origin",
}
# For pages whose URL contains a secret: no script may read it.
SECRET_PAGE_HEADERS = {"Content-Security-Policy": _POLICY.format(""), "Referrer-Policy": "no-referrer"}

# The links in the header of every page; those that show data come first.
DATA_LINKS = (("/filings", "Filings"), ("/screen", "Screen"))
SITE_LINKS = (("/status", "Status"), ("/plans", "Plans"), ("/docs", "Docs"), ("/account", "Account"))

SEARCH_LABEL = "Company, ticker or CIK"

ERROR_TITLES = {
    400: "Invalid request",
    401: "Sign in",
    402: "Out of tokens",
    403: "Not allowed",
    404: "Not found",
    429: "Too many requests",
    503: "Busy",
}


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
    """Return a page as a response. See :func:`render_document` for the parameters."""
    document = render_document(
        call.app.config,
        title,
        *body,
        path=call.request.path,
        wide=wide,
        feed=feed,
        scripts=scripts,
        secret=secret,
        search=search,
    )
    return build_html_response(document, status, secret=secret)


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
    """Return the bytes of a page.

    ``title`` is the title of the document and, unless the body contains an ``h1``, its first heading. ``path`` is the
    page's own path, whose link is marked. ``feed`` is the path of its RSS or Atom feed; ``scripts`` are modules of
    ``static/``. A ``secret`` page has a token in its URL: no script runs there, and the browser loads nothing else.
    ``search`` is False for a page whose body has a search form of its own.
    """
    content = join_html(*body)
    heading = NOTHING if "<h1" in content else h.h1(title)
    can_search = config.pages != "off" and not secret
    script_names = [*(["search.js"] if can_search else []), *scripts]
    feed_type = "application/atom+xml" if feed.endswith(".atom") else "application/rss+xml"
    head = h.head(
        h.meta(charset="utf-8"),
        h.meta(name="viewport", content="width=device-width, initial-scale=1"),
        h.title(title if title == "finapi" else f"{title} - finapi"),
        h.link(rel="stylesheet", href=static_files.get_static_url("style.css")),
        h.link(rel="icon", href=static_files.get_static_url("favicon.svg"), type="image/svg+xml"),
        feed and h.link(rel="alternate", type=feed_type, title=title, href=feed),
        [h.script(type="module", src=static_files.get_static_url(name)) for name in script_names],
    )
    body_element = h.body(
        h.a("Skip to content", href="#main", class_="skip"),
        _render_header(config, path, render_search_form() if search and can_search else None),
        h.main(heading, content, id="main", class_="wide" if wide else None),
        _render_footer(config),
    )
    document = b"<!doctype html>" + h.html(head, body_element, lang="en").encode() + b"\n"
    return prefix_page(document, config.public_path)


def build_html_response(document: bytes, status: int = 200, *, secret: bool = False) -> Response:
    """Return the bytes of a page as a response."""
    return Response(status, document, HTML, dict(SECRET_PAGE_HEADERS if secret else PAGE_HEADERS))


def render_error_page(config: Config, error: ApiError, path: str, request_id: str) -> Response:
    """Return the page for an error: the message, the search form and the id of the request."""
    title = ERROR_TITLES.get(error.status, "Error")
    links = error.status == 404 and h.p(
        "Try the ", h.a("front page", href="/"), " or the ", h.a("documentation", href="/docs"), "."
    )
    body = (
        h.p(error.message, role="alert"),
        links,
        config.pages != "off" and render_search_form(),
        h.p("When reporting this, include request ", h.code(request_id), ".", class_="quiet"),
    )
    return build_html_response(render_document(config, title, *body, path=path, search=False), error.status)


def render_problem_page(call: Call, title: str, message: str, status: int, *body: Child) -> Response:
    """Return a page that says what is wrong, for a URL that contains a secret."""
    return render_page(call, title, h.p(message, role="alert", id="problem"), *body, status=status, secret=True)


def render_search_form(text: str = "", *, autofocus: bool = False) -> Html:
    """Return the form that searches companies. A script adds suggestions to it."""
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


def _render_header(config: Config, path: str, search_form: Html | None) -> Html:
    links = (*DATA_LINKS, *SITE_LINKS) if config.pages != "off" else SITE_LINKS
    anchors = [h.a(name, href=url, aria_current=_get_current_mark(path, url)) for url, name in links]
    brand = h.a("finapi", href="/", class_="brand", aria_current="page" if path == "/" else None)
    return h.header(h.div(brand, search_form, h.nav(anchors, aria_label="Pages")), class_="top")


def _get_current_mark(path: str, url: str) -> str | None:
    """Return the ``aria-current`` of a link: "page" for the page itself, "true" for a page below it."""
    if path == url:
        return "page"
    return "true" if path.startswith(url + "/") else None


def _render_footer(config: Config) -> Html:
    changelog_link = h.a("what changed", href="/changelog")
    claims_link = config.pages != "off" and h.p(h.a("Compare a stated figure with the filings", href="/claims"))
    return h.footer(
        h.p(f"finapi {__version__}: ", changelog_link),
        claims_link,
        h.p("Derived from SEC filings. Not advice."),
    )
