"""Tests of the promises to clients: each is kept, or flagged BREAKING in the changelog; and of the check itself."""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from finapi import __version__
from finapi.store import sql_files
from tests.released import (
    CHANGELOG,
    RELEASED,
    build_current_contract,
    compute_needed_version,
    extract_contract,
    find_unmarked_changes,
    list_breaking_changes,
    read_released_contract,
    render_contract,
    split_version,
)
from tests.support.case_tables import run_each_case

Json = dict[str, Any]


def test_every_breaking_change_of_the_document_is_marked() -> None:
    released, _ = read_released_contract()
    changes = list_breaking_changes(released, build_current_contract())
    assert find_unmarked_changes(changes, CHANGELOG.read_text(encoding="utf-8")) == [], (
        "begin an entry under the unreleased heading of CHANGELOG.md with BREAKING, name the path and the way to "
        "migrate, or undo the change"
    )


def test_the_version_is_high_enough_for_the_changes_of_the_document() -> None:
    needed_version = compute_needed_version(*_pair_contracts())
    assert split_version(__version__) >= split_version(needed_version), (
        f"raise the version in finapi/__init__.py to {needed_version}: the document has more than the released one"
    )


def _pair_contracts() -> tuple[Json, Json, str]:
    released, version = read_released_contract()
    return released, build_current_contract(), version


def test_the_released_document_is_written_in_one_way_only() -> None:
    assert RELEASED.read_text(encoding="utf-8") == render_contract(*read_released_contract())


@pytest.mark.parametrize(
    ("path", "digest"),
    [
        ("schema.sql", "bc3387f8fc97b8c6"),
        ("full_text.sql", "fa99201428c46386"),
        ("postgres/schema.sql", "b352c574bd7aedb9"),
    ],
)
def test_the_schema_of_1_0_0_is_frozen(path: str, digest: str) -> None:
    """A changed schema needs a file in sql/migrations. Comments may change."""
    text = re.sub(r"--[^\n]*", "", sql_files.read_text(path))
    assert hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16] == digest


# ---- the check itself, on a small document


def small() -> Json:
    schema = {
        "type": "object",
        "required": ["name", "state"],
        "properties": {
            "name": {"type": "string"},
            "state": {"type": "string", "enum": ["open", "shut"]},
            "size": {"type": "number"},
            "inner": {"anyOf": [{"$ref": "#/components/schemas/Inner"}, {"type": "null"}]},
        },
    }
    body = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string", "pattern": "^(a|b)$"}, "way": {"enum": ["a", "b"]}},
    }
    operation = {
        "operationId": "put_thing",
        "security": [{"key": []}, {"session": []}],
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "limit", "in": "query", "required": False, "schema": {"type": "integer", "default": 50}},
        ],
        "requestBody": {"content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {
                "headers": {"ETag": {}},
                "content": {"application/json": {"schema": schema}, "text/csv": {"schema": {"type": "string"}}},
            },
            "400": {"$ref": "#/components/responses/Error"},
        },
    }
    inner = {"type": "array", "items": {"type": "integer"}}
    hook = {"requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {"n": {}}}}}}}
    return {
        "paths": {"/things/{id}": {"put": operation}},
        "webhooks": {"hit": {"post": hook}},
        "components": {"schemas": {"Inner": inner}},
    }


def operation(document: Json) -> Json:
    part: Json = document["paths"]["/things/{id}"]["put"]
    return part


def answer(document: Json) -> Json:
    part: Json = operation(document)["responses"]["200"]["content"]["application/json"]["schema"]
    return part


def body(document: Json) -> Json:
    part: Json = operation(document)["requestBody"]["content"]["application/json"]["schema"]
    return part


def lost(change: Callable[[Json], Any]) -> list[str]:
    """Return the losses of a client by a change of the small document."""
    before, after = small(), copy.deepcopy(small())
    change(after)
    return list_breaking_changes(extract_contract(before), extract_contract(after))


def test_a_document_takes_nothing_away_from_itself() -> None:
    assert lost(lambda document: None) == []


@run_each_case(
    "change, message",
    [
        (lambda d: d["paths"].clear(), "PUT /things/{id}: removed"),
        (lambda d: d["paths"]["/things/{id}"].pop("put"), "PUT /things/{id}: removed"),
        (lambda d: operation(d)["parameters"].pop(), "PUT /things/{id} parameter limit: removed"),
        (
            lambda d: operation(d)["parameters"][1].update(required=True),
            "PUT /things/{id} parameter limit: became required",
        ),
        (
            lambda d: operation(d)["parameters"].append({"name": "q", "in": "query", "required": True, "schema": {}}),
            "PUT /things/{id} parameter q: is new and required",
        ),
        (
            lambda d: operation(d)["parameters"][1]["schema"].update(type="string"),
            "PUT /things/{id} parameter limit: type integer became string",
        ),
        (
            lambda d: operation(d)["parameters"][1]["schema"].update(maximum=10),
            "PUT /things/{id} parameter limit: maximum became 10",
        ),
        (
            lambda d: operation(d)["parameters"][1]["schema"].update(default=10),
            "PUT /things/{id} parameter limit: default 50 became 10",
        ),
        (lambda d: body(d)["required"].append("way"), "PUT /things/{id} body .way: became required"),
        (
            lambda d: body(d).update(required=["name", "more"], properties={**body(d)["properties"], "more": {}}),
            "PUT /things/{id} body .more: became required",
        ),
        (lambda d: body(d)["properties"].pop("way"), "PUT /things/{id} body .way: removed"),
        (lambda d: body(d)["properties"]["way"]["enum"].pop(), "PUT /things/{id} body .way: has fewer values"),
        (lambda d: body(d)["properties"]["name"].update(enum=["x"]), "PUT /things/{id} body .name: has fewer values"),
        (lambda d: answer(d)["properties"].pop("size"), "PUT /things/{id} 200 .size: removed"),
        (lambda d: answer(d)["required"].remove("name"), "PUT /things/{id} 200 .name: may be missing"),
        (
            lambda d: answer(d)["properties"]["size"].update(type=["number", "null"]),
            "PUT /things/{id} 200 .size: type number became null|number",
        ),
        (
            lambda d: body(d)["properties"]["name"].update(pattern="^(a)$"),
            "PUT /things/{id} body .name: pattern became ^(a)$",
        ),
        (lambda d: answer(d)["properties"]["state"]["enum"].pop(), "PUT /things/{id} 200 .state: has fewer values"),
        (
            lambda d: d["components"]["schemas"]["Inner"]["items"].update(type="string"),
            "PUT /things/{id} 200 .inner []: type integer became string",
        ),
        (lambda d: operation(d)["responses"].pop("200"), "PUT /things/{id} 200: removed"),
        (
            lambda d: operation(d)["responses"]["200"]["content"].pop("text/csv"),
            "PUT /things/{id} 200 text/csv: removed",
        ),
        (
            lambda d: operation(d)["responses"]["200"]["headers"].pop("ETag"),
            "PUT /things/{id} 200 header ETag: removed",
        ),
        (lambda d: operation(d)["security"].pop(), "PUT /things/{id}: takes a credential no more"),
        (lambda d: d["webhooks"].clear(), "webhook hit: removed"),
        (
            lambda d: d["webhooks"]["hit"]["post"]["requestBody"]["content"]["application/json"]["schema"][
                "properties"
            ].clear(),
            "webhook hit .n: removed",
        ),
    ],
)
def test_a_change_that_breaks_clients_is_reported(change: Callable[[Json], Any], message: str) -> None:
    assert lost(change) == [message]


@run_each_case(
    "change",
    [
        lambda d: d["paths"].update({"/more": {"get": operation(small())}}),
        lambda d: operation(d).update(summary="Other words", description="More", tags=["x"]),
        lambda d: operation(d)["parameters"].append({"name": "q", "in": "query", "required": False, "schema": {}}),
        lambda d: operation(d)["parameters"][1]["schema"].update(type=["integer", "string"]),
        lambda d: body(d)["required"].clear(),
        lambda d: body(d)["properties"]["way"]["enum"].append("c"),
        lambda d: body(d)["properties"]["name"].update(pattern="^(a|b|c)$"),
        lambda d: body(d)["properties"].update(more={"type": "string"}),
        lambda d: answer(d)["properties"].update(more={"type": "string"}),
        lambda d: answer(d)["properties"]["size"].update(type="integer"),
        lambda d: answer(d)["properties"]["state"]["enum"].append("ajar"),
        lambda d: answer(d)["required"].append("size"),
        lambda d: operation(d)["security"].append({"keyInQuery": []}),
        lambda d: operation(d)["responses"].pop("400"),
    ],
)
def test_an_addition_takes_nothing_away(change: Callable[[Json], Any]) -> None:
    assert lost(change) == []


@pytest.mark.parametrize(
    ("change", "needed_version"),
    [
        (lambda d: None, "1.4.2"),
        (lambda d: operation(d).update(summary="Other words"), "1.4.2"),
        (lambda d: answer(d)["properties"].update(more={"type": "string"}), "1.5.0"),
        (lambda d: d["paths"].update({"/more": {"get": operation(small())}}), "1.5.0"),
        (lambda d: answer(d)["properties"].pop("size"), "2.0.0"),
        (lambda d: d["paths"].clear(), "2.0.0"),
    ],
)
def test_additions_need_a_minor_version_and_losses_a_major_one(
    change: Callable[[Json], Any], needed_version: str
) -> None:
    before, after = small(), copy.deepcopy(small())
    change(after)
    assert compute_needed_version(extract_contract(before), extract_contract(after), "1.4.2") == needed_version


MARKED = "# C\n\n## Unreleased\n\n- BREAKING: `GET /a/{b}` has no `c`.\n  To migrate, use `d`.\n\n## 1.0.0\n"


@pytest.mark.parametrize(
    ("changelog", "is_marked"),
    [
        (MARKED, True),
        (MARKED.replace("Unreleased", "1.1.0 (unreleased)"), True),
        (MARKED.replace("Unreleased", "1.1.0"), False),
        (MARKED.replace("BREAKING", "Changed"), False),
        (MARKED.replace("To migrate, use", "Use"), False),
        (MARKED.replace("/a/{b}", "/a"), False),
        (MARKED.replace("/a/{b}", "/a/{b}/e"), False),
        (MARKED.replace("## Unreleased", "## Unreleased\n\n- New.\n\n## 1.1.0"), False),
    ],
)
def test_a_change_is_marked_by_its_path_and_a_way_to_migrate(changelog: str, is_marked: bool) -> None:
    changes = ["GET /api/v1/a/{b} 200 .c: removed"]
    assert find_unmarked_changes(changes, changelog) == ([] if is_marked else changes)


def test_the_location_of_a_removed_call_ends_at_its_path() -> None:
    assert find_unmarked_changes(["GET /api/v1/a/{b}: removed"], MARKED) == []
