"""Calls that are performed once however often they are sent: with an ``Idempotency-Key``, or from a form with an id."""

from __future__ import annotations

import json
from collections.abc import Callable

from finapi.core.clock import iso
from finapi.core.json import dumps
from finapi.store import idempotency
from finapi.store.idempotency import IdempotentCall
from finapi.web.http.call import Call
from finapi.web.http.messages import Response


def answer_once(call: Call, key: str, before_work: Callable[[], object]) -> Response:
    """Perform a call, or return the response that is stored under its key. ``before_work`` may raise a refusal.

    A parallel call with the same key may do the work between the first look-up and the handler. The handler then fails
    because of that work, or is rolled back, and the response that the parallel call stored is the answer.
    """
    # Calls with the same key are compared by their parameters and their body. If these differ, the call is refused.
    request_content = dumps([sorted(call.params.items()), sorted(call.body.items())])
    idempotent_call = idempotency.build_call(call.user_id, call.route.name, key, request_content)
    stored_response = _find_stored_response(call, idempotent_call)
    if stored_response is None:
        try:
            before_work()
            return call.route.handler(call._replace(idempotent_call=idempotent_call))
        except Exception:
            stored_response = _find_stored_response(call, idempotent_call)
            if stored_response is None:
                raise
    members = json.loads(stored_response)
    if "request_id" in members:
        # The stored response gets the id and time of this call (DECISIONS 2).
        members |= {"request_id": call.request_id, "timestamp": iso(call.now)}
    return Response(200, dumps(members), headers={"Idempotent-Replayed": "true"})


def _find_stored_response(call: Call, idempotent_call: IdempotentCall) -> bytes | None:
    with call.app.accounts.read() as tx:
        return idempotent_call.find_response(tx, call.now)
