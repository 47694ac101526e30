"""Users: accounts, their API keys, and the profile and settings that a user can read and change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.accounts import audit, credentials, plans
from finapi.app import App
from finapi.core import json, lockout
from finapi.core.clock import iso
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Format, OneOf, Time, Url, build_record
from finapi.edgar import form_families
from finapi.store.db import ConstraintError, Row, Transaction, is_unique_violation

# The database announces revoked keys under this topic.
KEYS_TOPIC = "keys"
INVALID_CREDENTIALS_MESSAGE = "Invalid email or password"
MAX_REASON_CHARACTERS = 200  # Of the reason for a correction of a wallet

# Event types that an account may switch on (DECISIONS 9); sniper.filing_hit is always on.
TOPICS = ("sniper.window_expired", *form_families.TOPICS)


@dataclass(frozen=True, slots=True)
class Caller:
    """The verified user behind a request.

    ``plan`` and ``period_end`` are None without a plan row. ``session`` is the session's fingerprint, or None for a
    call by key. ``data_stamp`` is the stamp of the market data when the key was looked up, for the call's ETags.
    ``is_admin`` is true for sessions of admins only, never for a call by key.
    """

    id: int
    uuid: str
    email: str
    plan: str | None
    period_end: str | None = None
    session: bytes | None = None
    data_stamp: str = field(default="", compare=False)
    is_admin: bool = False


class NewUser(NamedTuple):
    """A user that was just created, with the API key."""

    id: int
    uuid: str
    email: str
    api_key: str


class UserPlan(TypedDict):
    """The Userplan object of DECISIONS 3."""

    id: int
    userId: str
    total_limit_api: int
    reach_limit_api: int
    plan: str
    status: str
    current_period_end: Time | None
    created_at: Time
    updated_at: Time


class User(TypedDict):
    """The User object of DECISIONS 3."""

    id: int
    uuid: Annotated[str, Format("uuid")]
    email: str
    usertype: Literal["user", "admin"]
    api_key: str | None
    verify_email: bool
    is_online: bool
    has_uat_access: bool
    billing_admin: bool
    credit_balance: float
    notify_email: bool
    notify_browser: bool
    webhook_url: Url | None
    webhook_topics: list[Annotated[str, OneOf(TOPICS)]]
    created_at: Time
    updated_at: Time
    Userplan: UserPlan | None


class DocumentLimit(TypedDict):
    """The UserDocumentLimit object. Documents cannot be uploaded, so there is nothing to limit."""

    id: int
    userId: str
    total_limit_GB: int
    reach_limit_GB: str
    created_at: Time
    updated_at: Time


class DeviceLimit(TypedDict):
    """The UserDeviceLimit object of DECISIONS 3."""

    id: int
    userId: str
    device_limit: int
    user_login_device: Annotated[str, "The sessions, newest first, as hashes with commas between; empty for none."]
    created_at: Time
    updated_at: Time


def find_caller_by_api_key(tx: Transaction, key: str) -> Caller | None:
    """Return the user of an API key, or None if the key is malformed or unknown, or the account is locked."""
    if not credentials.has_api_key_form(key):
        return None
    row = tx.find_row("caller_by_fingerprint", fingerprint=credentials.fingerprint(key))
    return None if row is None else _build_caller(row)


def find_cached_caller(app: App, key: str) -> Caller | None:
    """Return the same as :func:`find_caller_by_api_key`, from a cache.

    The cache is valid until anything but the charge of a call is written to the accounts.
    """

    def look_up() -> Caller | None:
        with app.accounts.read_one() as tx:
            caller = find_caller_by_api_key(tx, key)
        if caller is None:
            return None
        with app.db.read_one() as tx:
            return replace(caller, data_stamp=tx.find_value("data_stamp"))

    fingerprint = credentials.fingerprint(key)
    if app.unknown_key_cache.find(app.invalidation_count, fingerprint, False):
        return None
    version = app.invalidation_count
    caller = app.caller_cache.get(version, fingerprint, look_up)
    if caller is None:
        app.unknown_key_cache.get(version, fingerprint, lambda: True)
    return caller


def find_caller_by_session(app: App, tx: Transaction, token: str, now: datetime) -> Caller | None:
    """Return the user of a session token, or None if the token or its session is not valid now."""
    claims = credentials.read_session_token(app.secrets, token, now)
    if claims is None:
        return None
    fingerprint = credentials.fingerprint(claims.session_id)
    row = tx.find_row("caller_by_session", fingerprint=fingerprint, uuid=claims.sub, now=iso(now))
    return (
        None if row is None else replace(_build_caller(row, session=fingerprint), is_admin=row["usertype"] == "admin")
    )


def _build_caller(row: Row, *, session: bytes | None = None) -> Caller:
    return Caller(row["id"], row["uuid"], row["email"], row["plan"], row["current_period_end"], session)


def normalise_email(email: str) -> str:
    """Return an email as it is stored and compared: in lower case, without surrounding spaces."""
    return email.strip().lower()


def is_email_reserved(tx: Transaction, email: str, now: datetime, *, user_id: int = 0) -> bool:
    """Return True for an address to which a change of an account other than ``user_id`` can still be reverted."""
    return bool(tx.find_value("is_email_reserved", email=email, user_id=user_id, now=iso(now)))


def create(
    app: App,
    email: str,
    plan: str,
    now: datetime,
    *,
    password: str | None = None,
    is_admin: bool = False,
    actor: audit.Actor | None = None,
) -> NewUser:
    """Create a verified user at the operator's request. ``password`` is plain text that the caller has checked.

    Raise CONFLICT if the email is taken or reserved, and UsageError for an unknown plan.
    """
    plans.check_name(app.config, plan)
    password_hash = app.hasher.hash(password) if password is not None else None
    try:
        with app.accounts.write() as tx:
            if is_email_reserved(tx, normalise_email(email), now):
                message = f"{normalise_email(email)} is reserved: the account that had it can still revert its change."
                raise ApiError("CONFLICT", message)
            user = insert(tx, app, email, plan, now, password=password_hash, verified=True)
            if is_admin:
                tx.run("make_admin", id=user.id)
            audit.record_action(tx, actor, "add an admin" if is_admin else "add", now, user.id, plan)
            return user
    except ConstraintError as error:
        if not is_unique_violation(error, "users", "email"):
            raise
        raise ApiError("CONFLICT", f"A user with the email {normalise_email(email)} exists already.") from None


def insert(
    tx: Transaction, app: App, email: str, plan: str, now: datetime, *, password: str | None, verified: bool
) -> NewUser:
    """Insert a user with an API key and the first period of ``plan``. ``password`` is a hash.

    Raise ConstraintError if the email is taken, and EMAIL_EXISTS if it is reserved.
    """
    email = normalise_email(email)
    if is_email_reserved(tx, email, now):
        raise ApiError("EMAIL_EXISTS", "Email already exists")
    created_at = iso(now)
    user_uuid, key_uuid = app.new_uuid(), app.new_uuid()
    user_id = tx.insert_row(
        "insert_user", uuid=user_uuid, email=email, password=password, verify_email=verified, now=created_at
    )
    key, values = _new_key(app, user_uuid, key_uuid)
    tx.run("insert_api_key", values, user_id=user_id, now=created_at)
    plans.begin_period(tx, app.config, user_id, plan, now)
    return NewUser(user_id, user_uuid, email, key)


def build_profile(app: App, tx: Transaction, user_id: int, now: datetime) -> User:
    """Return the User object of DECISIONS 3. Its Userplan is None if the plan row is missing."""
    row = tx.find_row("user_profile", id=user_id, now=iso(now))
    plan = tx.find_row("userplan", user_id=user_id)
    assert row is not None
    key = row["uuid"], row["key_uuid"] or ""
    return build_record(
        User,
        row,
        api_key=credentials.derive_again(app.secrets, row["fingerprint"], credentials.derive_api_key, *key),
        webhook_topics=json.loads(row["webhook_topics"]),
        Userplan=None if plan is None else build_record(UserPlan, plan, userId=row["uuid"]),
    )


def build_limits(app: App, tx: Transaction, user_id: int) -> tuple[DocumentLimit, DeviceLimit]:
    """Return the limits on a user's documents and devices, with the user's sessions."""
    now = iso(app.clock.now())
    row = tx.find_row("user_profile", id=user_id, now=now)
    assert row is not None
    devices = ",".join(session["device"] for session in tx.list_rows("devices_of_user", id=user_id, now=now))
    device_limit = row["device_limit"] or app.config.device_limit
    documents = build_record(DocumentLimit, row, userId=row["uuid"], total_limit_GB=0, reach_limit_GB="0")
    return documents, build_record(
        DeviceLimit, row, userId=row["uuid"], device_limit=device_limit, user_login_device=devices
    )


def update(app: App, user_id: int, changes: Mapping[str, Any], now: datetime) -> User:
    """Change ``webhook_url``, ``notify_email``, ``notify_browser`` or ``webhook_topics``. Return the changed user."""
    topics = changes.get("webhook_topics")
    with app.accounts.write() as tx:
        values = {name: changes.get(name) for name in ("webhook_url", "notify_email", "notify_browser")}
        values["webhook_topics"] = None if topics is None else json.text(sorted(set(topics)))
        tx.run("update_user", values, id=user_id, set_webhook_url="webhook_url" in changes, now=iso(now))
        return build_profile(app, tx, user_id, now)


def get_id(app: App, email: str) -> int:
    """Return the id of the user with this email. Raise NOT_FOUND if there is none."""
    with app.accounts.read() as tx:
        return int(_by_email(tx, email)["id"])


def get_locked_at(tx: Transaction, email: str) -> str | None:
    """Return the time at which the user with this email was locked, or None if the account is not locked."""
    locked_at: str | None = _by_email(tx, email)["locked_at"]
    return locked_at


def set_locked(app: App, email: str, locked: bool, now: datetime, actor: audit.Actor | None = None) -> None:
    """Lock an account and end its sessions, or unlock it. Raise NOT_FOUND if there is none.

    Unlocking also clears the lockout that wrong passwords caused.
    """
    key = lockout.hash_email(email)
    with app.accounts.write() as tx:
        user_id = _by_email(tx, email)["id"]
        if locked and actor is not None and actor.user_id == user_id:
            raise ApiError("CONFLICT", "You cannot lock your own account: no page could unlock it again.")
        audit.record_action(tx, actor, "lock" if locked else "unlock", now, user_id)
        tx.run("set_locked", id=user_id, locked_at=iso(now) if locked else None, now=iso(now))
        if locked:
            tx.run("delete_sessions", user_id=user_id)
            tx.announce(KEYS_TOPIC)
        else:
            tx.run("delete_login_failures", email=key)
    if not locked:
        app.lockouts.reset(key)


def list_users(tx: Transaction, text: str = "", limit: int = -1) -> list[Row]:
    """Return the accounts whose email contains ``text`` or whose uuid is ``text``.

    They are the newest ``limit`` accounts or, without a limit, all accounts, oldest first.

    The columns are ``email``, ``uuid``, ``plan``, ``balance``, ``state``, ``created_at``, ``credit_balance`` and
    ``usertype``.
    """
    return tx.list_rows("user_rows", text=text.strip().lower(), limit=limit)


def get_email(tx: Transaction, uuid: str) -> str:
    """Return the email of the account with this uuid. Raise NOT_FOUND if there is none."""
    email: str | None = tx.find_value("email_by_uuid", uuid=uuid)
    if email is None:
        raise ApiError("NOT_FOUND", "Account not found.")
    return email


def require_same_password(tx: Transaction, checked_user: Row) -> None:
    """Raise 401 if a user's password was changed or the account locked since ``checked_user`` was read."""
    user = tx.find_row("user_by_id", id=checked_user["id"])
    if user is None or user["locked_at"] or user["password_serial"] != checked_user["password_serial"]:
        raise ApiError("INVALID_CREDENTIALS", INVALID_CREDENTIALS_MESSAGE)


def erase(
    app: App, user_id: int, now: datetime, actor: audit.Actor | None = None, *, checked_user: Row | None = None
) -> None:
    """Erase an account for good: its email, credentials, settings and deliveries.

    The rows of its ledger and wallet stay, under its user id: without them the totals of the service would no longer
    add up, and rows cannot be removed from archives. For an owner, ``checked_user`` is the row whose password was
    checked. Raise 401 if the password was changed since then.
    """
    with app.accounts.write() as tx:
        if checked_user is not None:
            require_same_password(tx, checked_user)
        user = tx.find_row("user_by_id", id=user_id)
        assert user is not None
        audit.record_action(tx, actor, "delete", now, user_id)
        tx.run("delete_login_failures", email=lockout.hash_email(user["email"]))
        for query in _ERASING_QUERIES:
            tx.run(query, user_id=user_id)
        tx.run("erase_user", id=user_id, now=iso(now))
        tx.announce(KEYS_TOPIC)
    app.lockouts.reset(lockout.hash_email(user["email"]))


_ERASING_QUERIES = (
    "delete_api_key",
    "delete_sessions",
    "delete_verifications",
    "delete_resets_of_user",
    "delete_email_changes",
    "delete_kept_answers",
    "delete_receipt_chain",
    "delete_login_addresses",
    "delete_webhook_secrets",
    "delete_failing_receivers",
    "delete_deliveries",
    "delete_targets",
    "delete_mails_of_user",
    "end_userplan",
)


def change_credit(
    app: App, email: str, cents: int, now: datetime, actor: audit.Actor | None = None, reason: str = ""
) -> int:
    """Add cents to a user's wallet, or with a negative number correct it. Return the cents in it.

    The audit log contains the reason. Raise NOT_FOUND if there is no such user, INVALID_PARAM for a correction without
    a reason or for one that is not printable, and CONFLICT if less is left in the wallet than would be taken.
    """
    if len(reason) > MAX_REASON_CHARACTERS or not reason.isprintable():
        raise invalid_param("reason", f"reason must be printable and of at most {MAX_REASON_CHARACTERS} characters.")
    if cents < 0 and not reason.strip():
        raise invalid_param("reason", "A correction of the wallet requires a reason.")
    detail = f"{cents / 100:.2f} dollars{reason and ': '}{reason}"
    with app.accounts.write() as tx:
        user = _by_email(tx, email)
        values = {"user_id": user["id"], "cents": cents, "now": iso(now)}
        audit.record_action(tx, actor, "credit", now, user["id"], detail)
        row = tx.find_row("change_credit", values)
        if row is None:
            message = f"The wallet has less than {-cents / 100:.2f} dollars, so they cannot be taken from it."
            raise ApiError("CONFLICT", message)
        tx.run("insert_wallet_row", values, reason="credit", tokens=0)
        return int(row["credit_cents"])


def _by_email(tx: Transaction, email: str) -> Row:
    user = tx.find_row("user_by_email", email=normalise_email(email))
    if user is None:
        raise ApiError("NOT_FOUND", f"There is no user with the email {normalise_email(email)}.")
    return user


def rotate_key(app: App, user_id: int, now: datetime) -> str:
    """Replace a user's API key and return the new one. The old key stops working immediately."""
    with app.accounts.write() as tx:
        return rotate_key_in_transaction(tx, app, user_id, now)


def rotate_key_in_transaction(tx: Transaction, app: App, user_id: int, now: datetime) -> str:
    """Replace a user's API key in the caller's transaction, and return the new one."""
    user = tx.find_row("user_by_id", id=user_id)
    assert user is not None
    key, values = _new_key(app, user["uuid"], app.new_uuid())
    tx.run("replace_api_key", values, user_id=user_id, now=iso(now))
    tx.announce(KEYS_TOPIC)
    return key


def _new_key(app: App, user_uuid: str, uuid: str) -> tuple[str, dict[str, Any]]:
    """Return the API key with this uuid, and the columns to store for it."""
    key = credentials.derive_api_key(app.secrets, user_uuid, uuid)
    made_with = credentials.get_secret_name(app.secrets[0])
    return key, {"uuid": uuid, "fingerprint": credentials.fingerprint(key), "made_with": made_with}
