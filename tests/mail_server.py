"""A mail server (aiosmtpd) in this process, and the mailbox that it fills."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as default_policy
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.process import eventually

SECONDS = 10.0  # the longest that its end may take


@dataclass
class Mailbox:
    """The mails of a server, and its answers: ``refuse`` maps a command to an error answer."""

    refuse: dict[str, str] = field(default_factory=dict)
    envelopes: list[Envelope] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return self.refuse.get("MAIL", "250 OK")

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if "RCPT" not in self.refuse:
            envelope.rcpt_tos.append(address)
        return self.refuse.get("RCPT", "250 OK").replace("ADDRESS", address)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if "DATA" not in self.refuse:
            self.envelopes.append(envelope)
            self.sessions.append(session)
        return self.refuse.get("DATA", "250 OK")

    def message(self) -> EmailMessage:
        """Return the only mail that arrived.

        This is not a property because aiosmtpd reads every attribute of its handler.
        """
        (message,) = self.mails()
        return message

    def subjects(self) -> list[tuple[str, str]]:
        """Return recipient and subject of each mail, in order of arrival."""
        return [(str(mail["To"]), str(mail["Subject"])) for mail in self.mails()]

    def mails(self) -> list[EmailMessage]:
        """Return every mail that arrived."""
        return [_parsed(envelope.content) for envelope in list(self.envelopes)]

    def the(self, recipient: str, subject: str) -> str:
        """Return the text of the only mail with a recipient and a subject, which may not have arrived yet."""
        eventually(lambda: (recipient, subject) in self.subjects())
        (mail,) = [mail for mail in self.mails() if (mail["To"], mail["Subject"]) == (recipient, subject)]
        text: str = next(iter(mail.iter_parts())).get_content()
        return text.replace("\r\n", "\n")


@contextmanager
def mail_server(
    mailbox: Mailbox, port: int = 0, *, implicit_tls: ssl.SSLContext | None = None, **options: Any
) -> Iterator[int]:
    """Yield the port of a mail server in its own thread."""
    loop = asyncio.new_event_loop()

    def protocol() -> SMTP:
        return SMTP(mailbox, hostname="mail.test", loop=loop, enable_SMTPUTF8=True, **options)

    async def stop(server: asyncio.Server) -> None:
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()

    server = loop.run_until_complete(loop.create_server(protocol, "127.0.0.1", port, ssl=implicit_tls))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(stop(server), loop).result(SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _parsed(content: object) -> EmailMessage:
    assert isinstance(content, bytes)
    message = message_from_bytes(content, policy=default_policy)
    assert isinstance(message, EmailMessage)
    return message
