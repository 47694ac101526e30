"""A finapi in which every operation of the OpenAPI document can answer well, and calls built from its examples.

The demo's data, a filing whose text is kept, accounts, invites, targets and deliveries. What can be used only
once, or has an id that is not known beforehand, is created for each call: see :meth:`World.own`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from finapi.accounts import credentials, invites, sessions, users
from finapi.app import App
from finapi.core import lockout
from finapi.core.clock import iso
from finapi.delivery import sniper, webhooks
from finapi.edgar import sale_notices, sgml
from finapi.edgar import schedules as parser
from finapi.market.demo import demo_data
from finapi.market.documents import filing_store, metadata, submission_documents
from finapi.market.documents.metadata import FilingMetadata
from finapi.market.ownership import sale_notice_store
from finapi.market.ownership import schedule_store as ownership
from finapi.ops import watchdog
from tests.client import PASSWORD
from tests.market.documents.test_filing_store import FULL
from tests.support import fund_report_xml, schedule_xml
from tests.support.demo_copies import load_demo
from tests.support.raw_sql import run_sql, run_sql_many

# No limit and no balance in the way; hashes that cost nothing.
LIFTED: dict[str, Any] = {
    "password_profile": "cheap",
    "device_limit": 1_000_000,
    "sniper_slots": 1_000_000,
    "webhook_allow": ("127.0.0.0/8",),
    "pro_tokens": 10**9,
    **dict.fromkeys(
        (
            "financials_per_minute",
            "xbrl_per_minute",
            "insider_per_minute_free",
            "insider_per_minute_paid",
            "sql_per_minute",
            "sql_cpu_per_minute",
            "refunded_cpu_per_minute",
            "app_per_minute",
            "app_per_hour",
            "register_per_hour_per_ip",
            "register_per_hour_per_email",
            "resend_per_hour_per_ip",
            "resend_per_hour_per_email",
            "financials_burst",
            "xbrl_burst",
        ),
        1_000_000,
    ),
}

# Of the filing whose text is kept.
TEXT_OF = "0000001750-98-000077"

# A receiver that nobody listens at: what is sent to it fails, as it may.
RECEIVER = "http://127.0.0.1:9/"

# Where one of several optional parameters is needed: the one that is given.
ONE_OF: dict[str, dict[str, Any]] = {
    "get_xbrl_facts": {"cik": "320193"},
    "get_facts": {"ticker": "AAPL"},
    "get_xbrl_timeseries": {"ticker": "AAPL"},
    "get_xbrl_proof": {"ticker": "AAPL"},
    "get_xbrl_segments": {"ticker": "AAPL", "metric": "revenue"},
    "get_xbrl_share_classes": {"ticker": "AAPL"},
    # The demo has no document of NFLX that was filed before the day in the example.
    "post_facts_aggregate": {"tickers": ["AAPL"]},
}


def _nowhere(host: str) -> list[str]:
    raise OSError("no names here")


class World:
    """An App with everything in it. ``key`` has more tokens than can be spent."""

    def __init__(self, app: App) -> None:
        self.app = app
        if app.db.path is None:
            load_demo(app)
        else:
            demo_data.load(app)
        now = app.clock.now()
        header = sgml.parse_header(FULL, "full")
        papers = list(submission_documents.iter_listed_documents(sgml.iter_documents(FULL, "full")))
        with app.db.write() as tx:
            stored = filing_store.upsert(tx, metadata.from_header(header, len(FULL)), now)
            text = submission_documents.prepare_text(papers[0][1].body, papers[0][1].filename, 10_000)
            submission_documents.insert_documents(
                tx,
                stored.id,
                [line for line, _ in papers],
                text,
                max_stored_bytes=10**8,
                max_indexed_characters=10**8,
            )
            for number, filed, document in schedule_xml.examples():
                filing_metadata = FilingMetadata(number, metadata.DOCUMENT_EVIDENCE, filed_at=filed)
                if b"edgar/ownership" in document:
                    sale_notice_store.upsert(tx, sale_notices.parse(document, number), filing_metadata, now)
                else:
                    ownership.upsert(tx, parser.parse(document, number), filing_metadata, now)
            fund_report_xml.store_examples(tx, now)
            tx.run("bump_data_version")
        # No name is looked up for invented hosts: a delivery goes to an address or fails.
        app.outbound._dialer._resolve = _nowhere
        app.health.probes.update({} if app.health.probes else {"main_api": lambda: None})
        watchdog.run_round(app, now)
        self._count = 0
        self._caller = self._user("caller")
        self.key = self._caller.api_key
        # Whose key and password change.
        self._other = self._user("other")
        users.change_credit(app, self._other.email, 10**9, now)

    def _user(self, name: str) -> users.NewUser:
        return users.create(self.app, f"{name}@example.com", "pro", self.app.clock.now(), password=PASSWORD)

    def new_email(self) -> str:
        """Return an email that no account has."""
        self._count += 1
        return f"somebody-{self._count}@example.com"

    def session(self) -> str:
        """Return the token of a new session of the user whose key changes."""
        self._come_back()
        return sessions.login(self.app, self._other.email, PASSWORD, "192.0.2.1", self.app.clock.now()).token

    def _come_back(self) -> None:
        """Create another user in place of a deleted one, and let the user log in with the password again."""
        with self.app.db.read() as tx:
            is_deleted = tx.find_row("user_by_email", email=self._other.email) is None
        if is_deleted:
            self._other = self._user(self.new_email().partition("@")[0])
            users.change_credit(self.app, self._other.email, 10**9, self.app.clock.now())
        # A call may have changed the password, or wrong ones may have locked the email.
        with self.app.db.write() as tx:
            password_hash = self.app.hasher.hash(PASSWORD)
            tx.run("set_password", id=self._other.id, password=password_hash, now=iso(self.app.clock.now()))
        self.app.lockouts.reset(lockout.hash_email(self._other.email))

    def headers(self) -> dict[str, str]:
        """Return both credentials; each operation uses the one it needs."""
        session = self.session()
        with self.app.db.write() as tx:
            self._sessions = [tuple(row) for row in run_sql(tx, "SELECT * FROM sessions")]
        return {"X-API-Key": self.key, "Authorization": f"Bearer {session}"}

    def reopen(self) -> None:
        """Reopen the sessions that were open when ``headers`` were built, because a logout ends one."""
        with self.app.db.write() as tx:
            marks = ", ".join("?" for _ in self._sessions[0])
            run_sql_many(tx, f"INSERT OR REPLACE INTO sessions VALUES ({marks})", self._sessions)

    def own(self, operation: str) -> dict[str, Any]:
        """Return the values that replace the document's examples in one call of an operation, by name."""
        self._come_back()
        make = getattr(self, "_" + operation, None)
        return ONE_OF.get(operation, {}) if make is None else make()

    def _post_auth_redeem_invite(self) -> dict[str, Any]:
        code = invites.create(self.app, self.app.clock.now(), lifetime=None, note=None).code
        return {"invite_code": code}

    def _post_auth_register(self) -> dict[str, Any]:
        code, now = self._post_auth_redeem_invite()["invite_code"], self.app.clock.now()
        with self.app.db.read() as tx:
            return {"email": self.new_email(), "invite_token": invites.redeem(self.app, tx, code, now)}

    def _delete_user(self) -> dict[str, Any]:
        return {"password": PASSWORD}

    def _put_user_password(self) -> dict[str, Any]:
        return {"password": PASSWORD}

    def _post_user_email(self) -> dict[str, Any]:
        return {"password": PASSWORD, "email": self.new_email()}

    def _post_auth_login(self) -> dict[str, Any]:
        return {"email": self._other.email, "password": PASSWORD}

    def _get_auth_verifyEmail(self) -> dict[str, Any]:
        email, now = self.new_email(), self.app.clock.now()
        with self.app.db.write() as tx:
            user = users.insert(tx, self.app, email, "free", now, password=None, verified=False)
            uuid = self.app.new_uuid()
            row = tx.find_value("upsert_verification", user_id=user.id, uuid=uuid, now="", expires_at="9999-12-31")
        return {"token": credentials.build_link_token(self.app.secrets, "verify", row, uuid)}

    def _put_auth_newpassword(self) -> dict[str, Any]:
        email, uuid = self.new_email(), self.app.new_uuid()
        users.create(self.app, email, "free", self.app.clock.now(), password=PASSWORD)
        with self.app.db.write() as tx:
            row = tx.find_value("upsert_reset", email=email, uuid=uuid, now="", expires_at="9999-12-31")
        return {"token": credentials.build_link_token(self.app.secrets, "reset", row, uuid)}

    def _post_webhooks_test(self) -> dict[str, Any]:
        return {"url": RECEIVER}

    def _post_sniper_targets_target_id_stop(self) -> dict[str, Any]:
        watched, now = sniper.WatchedCompany(320193, "AAPL"), self.app.clock.now()
        created = sniper.create_target(self.app, self._other.id, watched, {}, now, lambda tx, target: dict(target))
        return {"target_id": created["target_id"]}

    def _post_webhooks_deliveries_delivery_id_redeliver(self) -> dict[str, Any]:
        now = self.app.clock.now()
        with self.app.db.write() as tx:
            receiver = webhooks.find_receiver(tx, self._other.id, RECEIVER)
            assert receiver is not None
            event = webhooks.WebhookEvent("finapi.test", iso(now), self.app.new_uuid(), {"message": "This is a test."})
            delivery_id = webhooks.enqueue(tx, now, receiver, event)
            run_sql(
                tx,
                "UPDATE deliveries SET state = 'dropped', due_at = NULL, done_at = ? WHERE delivery_id = ?",
                [iso(now), delivery_id],
            )
        return {"delivery_id": delivery_id}

    def _get_sec_filings_accession_number_html(self) -> dict[str, Any]:
        return {"accession_number": TEXT_OF}

    def _get_sec_filings_accession_number_documents_document(self) -> dict[str, Any]:
        return {"accession_number": TEXT_OF}


def example_call(operation: Mapping[str, Any], path: str, own: Mapping[str, Any]) -> tuple[str, Any]:
    """Return path with query, and body or None, of an operation's examples, with the values of ``own``."""
    query: dict[str, Any] = {}
    for parameter in operation.get("parameters", []):
        if "$ref" in parameter or not (parameter["required"] or parameter["name"] in own):
            continue
        value = own.get(parameter["name"], parameter.get("example"))
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", quote(str(value), safe=""))
        else:
            query[parameter["name"]] = _text(value)
    body = None
    if "requestBody" in operation:
        body = {**operation["requestBody"]["content"]["application/json"]["example"]}
        body |= {name: value for name, value in own.items() if name in body}
    return path + (f"?{urlencode(query)}" if query else ""), body


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
