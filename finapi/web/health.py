"""Whether this process works: for supervisors and load balancers."""

from __future__ import annotations

from finapi.web.call import Call
from finapi.web.http import Response, dumps
from finapi.web.shapes import INTEGER, const, obj

LIVE = obj(status=const("ok"))
READY = obj(status=const("ok"), data_version=INTEGER)


def livez(call: Call) -> Response:
    """200 whenever the process answers at all."""
    return Response(200, dumps({"status": "ok"}))


def readyz(call: Call) -> Response:
    """200 when the store can be read, with the version of the data that it holds."""
    with call.app.db.read() as tx:
        version = tx.value("data_version")
    return Response(200, dumps({"status": "ok", "data_version": version}))
