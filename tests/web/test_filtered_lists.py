"""Lists under random triples of filters: pages walked are the whole list, which is a filter over all rows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

import pytest

from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.market.documents import filing_store, metadata, submission_documents
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.filings import filing_search
from finapi.market.reference import companies
from finapi.web.http.params import Field, Param
from tests.client import Client
from tests.web.test_paging import MOST, NAMES, ROUTE_OF, ROWS, Lists, member, size_of

# ---- every list of the route table, with the filters that its route declares

PLACES = {"limit", "size", "offset", "from", "cursor", "since_seq", "include_total", "layout"}
FILTERED = sorted(name for name, route in ROUTE_OF.items() if route.lists and name not in ROWS)
TRIPLES = 6


class Refused(Exception):
    """A combination of filters that a route refuses, or has nothing for."""


class FilteredLists(Lists):
    """Lists that are asked what they may refuse."""

    def call(self, method: str, target: str, headers: dict[str, str], body: Any = None) -> Any:
        answer = self.client.call(method, target, headers=headers, **({} if body is None else {"json": body}))
        if answer.status in (400, 404):
            raise Refused(target, answer.json["code"])
        assert answer.status == 200, (target, answer.body)
        return answer.json


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredLists]:
    made = FilteredLists(tmp_path_factory.mktemp("lists"))
    yield made
    made.app.db.close()


def values(param: Param) -> list[Any]:
    """Some values that a parameter, or a member of a body, may have."""
    if isinstance(param, Field) and param.kind != "text":
        # As JSON has them.
        return [True, False] if param.kind == "boolean" else [] if param.example == "" else [param.example]
    if param.kind == "boolean":
        return ["true", "false"]
    if param.kind == "date":
        return ["2024-06-30", "2025-03-31", "2025-10-01"]
    if param.kind == "quarter" or param.name == "period":
        return ["2025-06-30", "2025-09-30", *param.allowed]
    if param.name == "cik":
        return ["1234567", "320193"]
    if param.kind in ("integer", "number"):
        return [str(param.minimum or 0), "5", "1000"]
    return [*param.allowed[:4], *([str(param.example)] if param.example else [])]


def asked_of(name: str) -> list[dict[str, Any]]:
    """Random triples of the optional filters of a route, the same every time."""
    chance = random.Random(name)
    filters = [
        one
        for one in (*ROUTE_OF[name].params, *(ROUTE_OF[name].body or ()))
        if one.location != "path" and not one.required and one.name not in PLACES and values(one)
    ]
    return [
        {one.name: chance.choice(values(one)) for one in chance.sample(filters, min(3, len(filters)))}
        for _ in range(TRIPLES if filters else 1)
    ]


@pytest.mark.parametrize("name", FILTERED)
def test_pages_of_filtered_rows_are_the_filtered_list(lists: FilteredLists, name: str) -> None:
    route, size = ROUTE_OF[name], size_of(ROUTE_OF[name])
    # What is called ``from`` is a day in some lists.
    given = {
        one.name: one for one in (*route.params, *(route.body or ())) if one.name != "from" or one.kind == "integer"
    }
    most = {size: min(MOST, given[size].maximum or MOST)} if size in given else {}
    answers = 0
    for asked in asked_of(name):
        try:
            whole, _ = lists.page(name, **{**asked, **most})
        except Refused:
            continue
        answers += 1
        step = max(1, len(whole) // 3)
        for way in ("next_cursor", "offset", "from"):
            key = NAMES.get(way, way)
            if key not in given or (way == "next_cursor" and way not in str(route.schema)):
                continue
            found, place = list[Any](), dict[str, Any]()
            while len(found) < len(whole):
                rows, answer = lists.page(name, **{**asked, size: step, **place})
                found += rows
                following = member(answer, "next_cursor") if way == "next_cursor" else len(found)
                if not rows or following is None:
                    break
                place = {key: following}
            assert found[: len(whole)] == whole, (asked, way)
    assert answers, "every triple was refused"


# ---- lists of filings over a random database, each filter judged by what is known of each filing

FIRST = date(2024, 1, 1)
NAMES_OF = {11: "Amber Lamp Corp", 12: "River Bank Inc", 13: "Amber River Trust", 14: "DOE ANN"}
Known = dict[str, Any]
Holds = Callable[[Known], bool]
FILTERS: dict[str, Holds] = {
    "cik=11": lambda one: 11 in one["parties"],
    "cik=12,14": lambda one: bool({12, 14} & one["parties"]),
    "form_type=8-K": lambda one: one["form"] == "8-K",
    "form_type=10-K*": lambda one: one["form"] in ("10-K", "10-K/A"),
    "from_date=2024-03-01": lambda one: one["day"] is not None and one["day"] >= "2024-03-01",
    "to_date=2024-06-15": lambda one: one["day"] is not None and one["day"] <= "2024-06-15",
    "q=amber": lambda one: bool({11, 13} & one["parties"]),
    "q=river%20amber": lambda one: 13 in one["parties"],
    "q=report": lambda one: one["description"] == "ANNUAL REPORT",
    "q=exhibits": lambda one: "9.01" in one["items"],
    "items=9.01": lambda one: "9.01" in one["items"],
    "items=2.02,5.02": lambda one: bool({"2.02", "5.02"} & one["items"]),
    "exhibits=EX-10": lambda one: one["exhibit"],
}
BARE = tuple(one for one in FILTERS if not one.startswith(("items", "exhibits")))
TEXTS = tuple(one for one in FILTERS if one.startswith(("cik", "form", "from", "to")))


@pytest.fixture
def known(app: App) -> list[Known]:
    """A hundred filings, their documents with the word lamp in every other."""
    chance, found = random.Random(20), list[Known]()
    with app.db.write() as tx:
        for cik, name in NAMES_OF.items():
            companies.upsert_name(tx, cik, name, companies.FROM_COVER, "")
        for number in range(1, 101):
            one: Known = {
                "number": number,
                "parties": set(chance.sample(sorted(NAMES_OF), chance.choice((1, 1, 2)))),
                "form": chance.choice(("8-K", "8-K", "10-K", "10-K/A", "4")),
                "day": chance.choice((None, *(str(FIRST + timedelta(7 * week)) for week in range(40)))),
                "description": chance.choice((None, "ANNUAL REPORT", "8-K")),
                "exhibit": chance.random() < 0.4,
                "lamp": chance.random() < 0.5,
            }
            one["items"] = set(chance.sample(("2.02", "5.02", "9.01"), 2)) if one["form"] == "8-K" else set()
            parties = [Party(cik, 2 + place) for place, cik in enumerate(sorted(one["parties"]))]
            told = FilingMetadata(
                f"0000000099-24-{number:06}",
                metadata.HEADER_EVIDENCE,
                parties,
                one["form"],
                one["day"],
                description=one["description"],
                items=",".join(sorted(one["items"])) or None,
            )
            stored = filing_store.upsert(tx, told, app.clock.now())
            papers = [submission_documents.ListedDocument(1, "EX-10", "e.htm", None, 9)] if one["exhibit"] else []
            text = submission_documents.prepare_text(
                f"<p>a {'lamp' if one['lamp'] else 'light'}</p>".encode(), "d.htm", 99
            )
            submission_documents.insert_documents(
                tx, stored.id, papers, text, max_stored_bytes=10**6, max_indexed_characters=10**6
            )
            found.append(one)
        tx.run("bump_data_version")
    return found


def walked(client: Client, path: str, query: str, rows: str) -> tuple[list[int], int]:
    """The numbers of the filings of all pages, and the total that the first tells."""
    found, cursor, total = list[int](), "", -1
    for _ in range(200):
        answer = client.get(f"/api/v1{path}?{query}&limit=7{cursor}")
        assert answer.status == 200, answer.json
        found += [int(one["accession_number"][-6:]) for one in answer.json[rows]]
        total = member(answer.json, "total") if total < 0 else total
        following = member(answer.json, "next_cursor")
        if following is None:
            return found, total
        cursor = f"&cursor={following}"
    raise AssertionError(f"{path}?{query} does not end")


def triples(filters: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Twenty random triples of filters of different parameters, the same every time."""
    every = [
        three for three in itertools.combinations(filters, 3) if len({one.partition("=")[0] for one in three}) == 3
    ]
    return random.Random(4).sample(every, min(20, len(every)))


@pytest.mark.parametrize(
    ("path", "rows", "filters", "always"),
    [
        ("/sec/filings", "data", tuple(FILTERS), ""),
        ("/sec/filings", "data", tuple(FILTERS), "sort=filed_date:asc"),
        ("/filings", "filings", BARE, ""),
        ("/sec/filings/search", "data", TEXTS, "q=lamp"),
    ],
)
def test_lists_of_filings_are_a_filter_over_all(
    app: App, client: Client, user: NewUser, known: list[Known], path: str, rows: str, filters: Any, always: str
) -> None:
    client.key = user.api_key
    assert len(known) < filing_search.MAX_COUNTED
    # Within a day by number; words are found newest first, as they came in.
    ordered = sorted(known, key=lambda one: (one["day"] or "", one["number"]), reverse=not always.startswith("sort"))
    some = 0
    for triple in triples(filters):
        holds = [FILTERS[one] for one in triple]
        expected = [
            one["number"]
            for one in ordered
            if all(hold(one) for hold in holds) and (one["lamp"] or not always.startswith("q"))
        ]
        query = "&".join((*triple, *filter(None, [always])))
        assert walked(client, path, query, rows) == (expected, len(expected)), query
        some += bool(expected)
    assert some > 3
