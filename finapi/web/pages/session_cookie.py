"""Sessions of the HTML pages: a cookie, which the API ignores, and a CSRF token in each form."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

from finapi.accounts import credentials
from finapi.app import App
from finapi.core.errors import ApiError
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Request, Response

FORM_TOKEN_FIELD = "form_token"


def get_cookie_name(app: App) -> str:
    """Return the cookie's name. With HTTPS, browsers accept it from this host only (RFC 6265bis, 4.1.3).

    They accept ``__Host-`` only for the path /, and ``__Secure-`` for any.
    """
    if not app.config.public_url.startswith("https:"):
        return "finapi"
    return "__Secure-finapi" if app.config.public_path else "__Host-finapi"


def find_session_token(app: App, request: Request) -> str | None:
    """Return the session token in a browser's cookies, or None."""
    cookie_name = get_cookie_name(app)
    for cookie in request.headers.get("cookie", "").split(";"):
        name, _, token = cookie.strip().partition("=")
        if name == cookie_name:
            return token
    return None


def build_cookie_header(app: App, token: str, lifetime_seconds: int) -> dict[str, str]:
    """Return the header that stores a session in the browser; a lifetime of 0 seconds deletes it."""
    name = get_cookie_name(app)
    secure = "; Secure" if name != "finapi" else ""
    attributes = f"Path={app.config.public_path or '/'}; Max-Age={lifetime_seconds}; HttpOnly; SameSite=Strict{secure}"
    return {"Set-Cookie": f"{name}={token}; {attributes}"}


def render_form(call: Call, action: str, button: str, *fields: Child, **attributes: object) -> Html:
    """Return a form that changes something, with the token of the caller's session."""
    return h.form(
        h.input(type="hidden", name=FORM_TOKEN_FIELD, value=_derive_form_token(call)) if call.caller else None,
        *fields,
        h.button(button),
        method="post",
        action=action,
        **attributes,
    )


def read_form(call: Call) -> Mapping[str, str]:
    """Return the fields of a form. Raise FORBIDDEN (403) if another site or another session sent it."""
    if not _is_from_this_site(call):
        raise _foreign_form_error()
    fields = call.request.read_form()
    form_token = fields.get(FORM_TOKEN_FIELD, "").encode()
    if call.caller and not hmac.compare_digest(form_token, _derive_form_token(call).encode()):
        raise _foreign_form_error()
    return fields


def redirect(url: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a redirect (303) to a page of this host."""
    return Response(303, b"", headers={"Location": url, **(headers or {})})


def _is_from_this_site(call: Call) -> bool:
    headers = call.request.headers
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    own_hosts = (urlsplit(call.app.config.public_url).netloc, headers.get("host"))
    # An origin is a scheme and a host without a path (RFC 6454, 7). urlsplit would raise for a malformed one.
    return origin is None or origin.partition("://")[2] in own_hosts


def _foreign_form_error() -> ApiError:
    return ApiError("FORBIDDEN", "This form belongs to another session. Go back, reload the page and send it again.")


def _derive_form_token(call: Call) -> str:
    assert call.caller is not None
    return credentials.derive_form_token(call.app.secrets, call.caller.session or b"")
