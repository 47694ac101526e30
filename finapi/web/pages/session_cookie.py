"""Sessions of pages: a cookie that only pages take, and a token in each form that no other site knows."""

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
    """The cookie's name; with HTTPS one that a browser takes from this very host only (RFC 6265bis 4.1.3)."""
    return "__Host-finapi" if app.config.public_url.startswith("https:") else "finapi"


def find_session_token(app: App, request: Request) -> str | None:
    """The session token that a browser sends along."""
    pairs = (part.strip().partition("=") for part in request.headers.get("cookie", "").split(";"))
    return next((value for key, _, value in pairs if key == get_cookie_name(app)), None)


def build_cookie_header(app: App, token: str, seconds: int) -> dict[str, str]:
    """The header that gives a browser its session, or with 0 seconds takes it away."""
    secure = "; Secure" if get_cookie_name(app).startswith("__Host-") else ""
    return {
        "Set-Cookie": f"{get_cookie_name(app)}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    }


def render_form(call: Call, action: str, button: str, *fields: Child, **attributes: object) -> Html:
    """A form that changes something, with the token of its session."""
    return h.form(
        h.input(type="hidden", name=FORM_TOKEN_FIELD, value=_token(call)) if call.caller else None,
        *fields,
        h.button(button),
        method="post",
        action=action,
        **attributes,
    )


def read_form(call: Call) -> Mapping[str, str]:
    """The fields of a form; FORBIDDEN (403) when another site sent it."""
    headers = call.request.headers
    sent_by = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc not in (_host(call), headers.get("host")):
        sent_by = False
    fields = call.request.read_form() if sent_by else {}
    if not sent_by or (
        call.caller and not hmac.compare_digest(fields.get(FORM_TOKEN_FIELD, "").encode(), _token(call).encode())
    ):
        raise ApiError("FORBIDDEN", "This form belongs to another session. Go back, reload the page and send it again.")
    return fields


def redirect(to: str, headers: Mapping[str, str] | None = None) -> Response:
    """303 to a page of this host."""
    return Response(303, b"", headers={"Location": to, **(headers or {})})


def _host(call: Call) -> str:
    return urlsplit(call.app.config.public_url).netloc


def _token(call: Call) -> str:
    assert call.caller is not None
    return credentials.derive_form_token(call.app.secrets, call.caller.session or b"")
