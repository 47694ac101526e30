"""Lists under random combinations of three filters: their pages together are the filtered list."""

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
from tests.support.slow_cases import slow_except_every
from tests.web.test_paging import MAX_ROWS, NAMES, ROUTE_OF, ROWS, Lists, find_member, size_param

# ---- each list of the route table, with the filters that its route declares

PAGE_PARAMS = {"limit", "size", "offset", "from", "cursor", "since_seq", "include_total", "layout"}
FILTERED = sorted(name for name, route in ROUTE_OF.items() if route.lists and name not in ROWS)
TRIPLES = 6


class RefusedError(Exception):
    """A combination of filters that a route refuses or that matches nothing."""


class FilteredLists(Lists):
    """Lists queried with filters that their routes may refuse."""

    def call(self, method: str, target: str, headers: dict[str, str], body: Any = None) -> Any:
        answer = self.client.call(method, target, headers=headers, **({} if body is None else {"json": body}))
        if answer.status in (400, 404):
            raise RefusedError(target, answer.json["code"])
        assert answer.status == 200, (target, answer.body)
        return answer.json


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredLists]:
    filtered_lists = FilteredLists(tmp_path_factory.mktemp("lists"))
    yield filtered_lists
    filtered_lists.app.db.close()


def list_values(param: Param) -> list[Any]:
    """Return some values that a parameter, or a member of a body, accepts."""
    if isinstance(param, Field) and param.kind != "text":
        # JSON values, not texts.
        if param.kind == "boolean":
            return [True, False]
        return [] if param.example == "" else [param.example]
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


def build_filter_triples(name: str) -> list[dict[str, Any]]:
    """Return random combinations of three optional filters of a route, the same in each run."""
    chance = random.Random(name)
    filters = [
        param
        for param in (*ROUTE_OF[name].params, *(ROUTE_OF[name].body or ()))
        if param.location != "path" and not param.required and param.name not in {*PAGE_PARAMS, "as_of"}
        if list_values(param)
    ]
    return [
        {param.name: chance.choice(list_values(param)) for param in chance.sample(filters, min(3, len(filters)))}
        for _ in range(TRIPLES if filters else 1)
    ]


@pytest.mark.parametrize("name", slow_except_every(3, FILTERED))
def test_pages_of_filtered_rows_are_the_filtered_list(lists: FilteredLists, name: str) -> None:
    route, size = ROUTE_OF[name], size_param(ROUTE_OF[name])
    # In some lists ``from`` is a day, not a position.
    params_by_name = {
        param.name: param
        for param in (*route.params, *(route.body or ()))
        if param.name != "from" or param.kind == "integer"
    }
    size_limit = {size: min(MAX_ROWS, params_by_name[size].maximum or MAX_ROWS)} if size in params_by_name else {}
    answers = 0
    for filters in build_filter_triples(name):
        try:
            all_rows, _ = lists.page(name, **{**filters, **size_limit})
        except RefusedError:
            continue
        answers += 1
        step = max(1, len(all_rows) // 3)
        for way in ("next_cursor", "offset", "from"):
            key = NAMES.get(way, way)
            if key not in params_by_name or (way == "next_cursor" and way not in str(route.schema)):
                continue
            paged_rows, position = list[Any](), dict[str, Any]()
            while len(paged_rows) < len(all_rows):
                rows, answer = lists.page(name, **{**filters, size: step, **position})
                paged_rows += rows
                following = find_member(answer, "next_cursor") if way == "next_cursor" else len(paged_rows)
                if not rows or following is None:
                    break
                position = {key: following}
            assert paged_rows[: len(all_rows)] == all_rows, (filters, way)
    assert answers, "each combination was refused"


# ---- lists of filings over a random database, compared with a predicate for each filter

FIRST = date(2024, 1, 1)
NAMES_OF = {11: "Amber Lamp Corp", 12: "River Bank Inc", 13: "Amber River Trust", 14: "DOE ANN"}
Filing = dict[str, Any]
Predicate = Callable[[Filing], bool]
FILTERS: dict[str, Predicate] = {
    "cik=11": lambda filing: 11 in filing["parties"],
    "cik=12,14": lambda filing: bool({12, 14} & filing["parties"]),
    "form_type=8-K": lambda filing: filing["form"] == "8-K",
    "form_type=10-K*": lambda filing: filing["form"] in ("10-K", "10-K/A"),
    "from_date=2024-03-01": lambda filing: filing["day"] is not None and filing["day"] >= "2024-03-01",
    "to_date=2024-06-15": lambda filing: filing["day"] is not None and filing["day"] <= "2024-06-15",
    "q=amber": lambda filing: bool({11, 13} & filing["parties"]),
    "q=river%20amber": lambda filing: 13 in filing["parties"],
    "q=report": lambda filing: filing["description"] == "ANNUAL REPORT",
    "q=exhibits": lambda filing: "9.01" in filing["items"],
    "items=9.01": lambda filing: "9.01" in filing["items"],
    "items=2.02,5.02": lambda filing: bool({"2.02", "5.02"} & filing["items"]),
    "exhibits=EX-10": lambda filing: filing["exhibit"],
}
FILTERS_WITHOUT_ITEMS = tuple(name for name in FILTERS if not name.startswith(("items", "exhibits")))
TEXT_SEARCH_FILTERS = tuple(name for name in FILTERS if name.startswith(("cik", "form", "from", "to")))


@pytest.fixture
def known_filings(app: App) -> list[Filing]:
    """Store a hundred filings, about half of them with the word lamp in their text; return them."""
    chance, filings = random.Random(20), list[Filing]()
    with app.db.write() as tx:
        for cik, name in NAMES_OF.items():
            companies.upsert_name(tx, cik, name, companies.FROM_COVER, "")
        for number in range(1, 101):
            filing: Filing = {
                "number": number,
                "parties": set(chance.sample(sorted(NAMES_OF), chance.choice((1, 1, 2)))),
                "form": chance.choice(("8-K", "8-K", "10-K", "10-K/A", "4")),
                "day": chance.choice((None, *(str(FIRST + timedelta(7 * week)) for week in range(40)))),
                "description": chance.choice((None, "ANNUAL REPORT", "8-K")),
                "exhibit": chance.random() < 0.4,
                "lamp": chance.random() < 0.5,
            }
            filing["items"] = set(chance.sample(("2.02", "5.02", "9.01"), 2)) if filing["form"] == "8-K" else set()
            parties = [Party(cik, 2 + position) for position, cik in enumerate(sorted(filing["parties"]))]
            filing_metadata = FilingMetadata(
                f"0000000099-24-{number:06}",
                metadata.HEADER_EVIDENCE,
                parties,
                filing["form"],
                filing["day"],
                description=filing["description"],
                items=",".join(sorted(filing["items"])) or None,
            )
            stored = filing_store.upsert(tx, filing_metadata, app.clock.now())
            exhibits = [submission_documents.ListedDocument(1, "EX-10", "e.htm", None, 9)] if filing["exhibit"] else []
            text = submission_documents.prepare_text(
                f"<p>a {'lamp' if filing['lamp'] else 'light'}</p>".encode(), "d.htm", 99
            )
            submission_documents.insert_documents(
                tx, stored.id, exhibits, text, max_stored_bytes=10**6, max_indexed_characters=10**6
            )
            filings.append(filing)
        tx.run("bump_data_version")
    return filings


def list_page_numbers(client: Client, path: str, query: str, rows: str) -> tuple[list[int], int]:
    """Return the numbers of the filings of all pages, and the total of the first page."""
    numbers, cursor, total = list[int](), "", -1
    for _ in range(200):
        answer = client.get(f"/api/v1{path}?{query}&limit=7{cursor}")
        assert answer.status == 200, answer.json
        numbers += [int(row["accession_number"][-6:]) for row in answer.json[rows]]
        total = find_member(answer.json, "total") if total < 0 else total
        following = find_member(answer.json, "next_cursor")
        if following is None:
            return numbers, total
        cursor = f"&cursor={following}"
    raise AssertionError(f"{path}?{query} does not end")


def choose_triples(filters: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return twenty random combinations of three filters of different parameters, the same in each run."""
    candidates = [
        triple for triple in itertools.combinations(filters, 3) if len({name.partition("=")[0] for name in triple}) == 3
    ]
    return random.Random(4).sample(candidates, min(20, len(candidates)))


@pytest.mark.parametrize(
    ("path", "rows", "filters", "always"),
    [
        ("/sec/filings", "data", tuple(FILTERS), ""),
        ("/sec/filings", "data", tuple(FILTERS), "sort=filed_date:asc"),
        ("/filings", "filings", FILTERS_WITHOUT_ITEMS, ""),
        ("/sec/filings/search", "data", TEXT_SEARCH_FILTERS, "q=lamp"),
    ],
)
def test_lists_of_filings_match_their_filters(
    app: App,
    client: Client,
    user: NewUser,
    known_filings: list[Filing],
    path: str,
    rows: str,
    filters: Any,
    always: str,
) -> None:
    client.key = user.api_key
    assert len(known_filings) < filing_search.MAX_COUNTED
    # Filings of the same day are in the order of their numbers. A text search lists the newest filing first.
    ordered = sorted(
        known_filings, key=lambda filing: (filing["day"] or "", filing["number"]), reverse=not always.startswith("sort")
    )
    queries_with_rows = 0
    for triple in choose_triples(filters):
        holds = [FILTERS[filing] for filing in triple]
        expected = [
            filing["number"]
            for filing in ordered
            if all(hold(filing) for hold in holds) and (filing["lamp"] or not always.startswith("q"))
        ]
        query = "&".join((*triple, *filter(None, [always])))
        assert list_page_numbers(client, path, query, rows) == (expected, len(expected)), query
        queries_with_rows += bool(expected)
    assert queries_with_rows > 3
