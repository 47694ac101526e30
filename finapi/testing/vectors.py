"""Test vectors for clients in any language, and the grading of a client's answers to them (docs/TESTING.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from finapi.core.files import get_package_folder
from finapi.testing.conformance import Verdict

KINDS = ("webhook", "retry_after", "retry", "decimal", "next_page")


def read_text() -> str:
    """Return the vectors as a JSON document: a list of vectors for each kind."""
    return (get_package_folder("finapi.testing") / "vectors.json").read_text("utf-8")


def grade_answers(answers: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdict on each vector. ``answers`` maps the ids of vectors to a client's answers."""
    vectors = json.loads(read_text())
    for kind in KINDS:
        for vector in vectors[kind]:
            yield _grade_answer(vector, answers)


def _grade_answer(vector: Mapping[str, Any], answers: Mapping[str, Any]) -> Verdict:
    vector_id, purpose, expected = vector["id"], vector["why"], vector["expect"]
    if vector_id not in answers:
        return Verdict(vector_id, "failed", f"{purpose}: nothing, not {json.dumps(expected)}")
    answer = answers[vector_id]
    # In Python True == 1, but not in JSON.
    if answer == expected and isinstance(answer, bool) == isinstance(expected, bool):
        return Verdict(vector_id, "ok", purpose)
    return Verdict(vector_id, "failed", f"{purpose}: {json.dumps(answer)}, not {json.dumps(expected)}")
