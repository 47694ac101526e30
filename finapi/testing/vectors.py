"""Vectors for clients in any language, and the verdict on what a client made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from finapi.core.files import get_package_folder
from finapi.testing.conformance import Verdict

KINDS = ("webhook", "retry_after", "retry", "decimal", "next_page")


def text() -> str:
    """The vectors as the JSON document that docs/TESTING.md explains."""
    return (get_package_folder("finapi.testing") / "vectors.json").read_text("utf-8")


def grade_answers(answers: Mapping[str, Any]) -> Iterator[Verdict]:
    """The verdict on each vector, by the answers of a client under the vectors' ids."""
    for kind in KINDS:
        for vector in json.loads(text())[kind]:
            name, wanted = vector["id"], vector["expect"]
            found = answers.get(name)
            same = found == wanted and isinstance(found, bool) == isinstance(wanted, bool)
            if name in answers and same:
                yield Verdict(name, "ok", vector["why"])
            else:
                said = json.dumps(found) if name in answers else "nothing"
                yield Verdict(name, "failed", f"{vector['why']}: {said}, not {json.dumps(wanted)}")
