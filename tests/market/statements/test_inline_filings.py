"""Filings with inline XBRL: pages without an extracted instance, both together, and links to the printed numbers."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.edgar.document_kinds import MAX_PREFIX_BYTES
from finapi.edgar.xbrl import InlinePage, parse_inline
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from finapi.market.statements import xbrl_intake
from finapi.market.statements.filed_report import MAX_CONFLICTING_VALUES
from tests.client import Client
from tests.conftest import SHARED
from tests.support.html_pages import HTML, get_page
from tests.support.inline_pages import CIK, COVER, HIDDEN_COVER, build_number, build_page

ACCESSION = "0001234567-25-000001"
STATEMENTS = f"/api/v1/xbrl/filing/{ACCESSION}/statements"
VIEWER = f"https://www.sec.gov/ix?doc=/Archives/edgar/data/1234567/{ACCESSION.replace('-', '')}"
PAGE_NAME = "brk-20241231.htm"
DOT = 'format="ixt:num-dot-decimal"'

PAGE_BODY = COVER + "".join(
    (
        build_number("5,000", attributes=f'{DOT} scale="6" decimals="-6" id="f-1"'),
        build_number("2,100", name="us-gaap:Liabilities", attributes=f'{DOT} scale="6" decimals="-6" id="f-2"'),
        build_number(
            "300",
            name="us-gaap:ProfitLoss",
            context="c-1",
            attributes=f'{DOT} scale="6" sign="-" decimals="-6" id="f 3"',
        ),
        build_number("2,900", name="us-gaap:StockholdersEquity", attributes=f'{DOT} scale="6" decimals="-6"'),
    )
)
PAGE = build_page(PAGE_BODY, hidden=HIDDEN_COVER)

SCHEMA = b"""<?xml version="1.0"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:link="http://www.xbrl.org/2003/linkbase"
 targetNamespace="http://brooklamps.example/20241231"><xs:annotation><xs:appinfo>
<link:roleType roleURI="http://brooklamps.example/role/Balance" id="Balance">
<link:definition>0000002 - Statement - CONSOLIDATED BALANCE SHEETS</link:definition></link:roleType>
<link:roleType roleURI="http://brooklamps.example/role/Income" id="Income">
<link:definition>0000003 - Statement - CONSOLIDATED STATEMENTS OF INCOME</link:definition></link:roleType>
</xs:appinfo></xs:annotation></xs:schema>"""


def build_presentation(**concepts_by_role: tuple[str, ...]) -> bytes:
    links = []
    for role, concepts in concepts_by_role.items():
        locators = "".join(
            f'<link:loc xlink:type="locator" xlink:href="a.xsd#{concept}" xlink:label="{concept}"/>'
            for concept in concepts
        )
        arcs = "".join(
            f'<link:presentationArc xlink:type="arc" xlink:arcrole="http://www.xbrl.org/2003/arcrole/parent-child" '
            f'xlink:from="{concepts[0]}" xlink:to="{concept}" order="{order}"/>'
            for order, concept in enumerate(concepts[1:], 1)
        )
        role_uri = f"http://brooklamps.example/role/{role}"
        links.append(
            f'<link:presentationLink xlink:type="extended" xlink:role="{role_uri}">{locators}{arcs}'
            "</link:presentationLink>"
        )
    return (
        '<link:linkbase xmlns:link="http://www.xbrl.org/2003/linkbase" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"{''.join(links)}</link:linkbase>"
    ).encode()


PRESENTATION = build_presentation(
    Balance=(
        "us-gaap_StatementOfFinancialPositionAbstract",
        "us-gaap_Assets",
        "us-gaap_Liabilities",
        "us-gaap_StockholdersEquity",
    ),
    Income=("us-gaap_IncomeStatementAbstract", "us-gaap_ProfitLoss"),
)


def build_instance(assets: str = "5000000000") -> bytes:
    """Return the instance that is extracted from the page, with other total assets."""
    facts = parse_inline([InlinePage(PAGE, PAGE_NAME)]).facts
    parts = []
    for fact in facts:
        value = assets if fact.concept == "us-gaap:Assets" else fact.value
        unit = f'unitRef="{fact.unit}" decimals="{fact.decimals}"' if fact.unit else ""
        element_id = f'id="{fact.id}"' if fact.id else ""
        parts.append(f'<{fact.concept} contextRef="{fact.context}" {unit} {element_id}>{value}</{fact.concept}>')
    entity = f'<entity><identifier scheme="http://www.sec.gov/CIK">{CIK}</identifier></entity>'
    return f"""<?xml version="1.0"?><xbrl xmlns="http://www.xbrl.org/2003/instance"
 xmlns:iso4217="http://www.xbrl.org/2003/iso4217" xmlns:dei="http://xbrl.sec.gov/dei/2024"
 xmlns:us-gaap="http://fasb.org/us-gaap/2024">
<context id="c-1">{entity}<period><startDate>2024-01-01</startDate><endDate>2024-12-31</endDate></period></context>
<context id="c-2">{entity}<period><instant>2024-12-31</instant></period></context>
<unit id="usd"><measure>iso4217:USD</measure></unit>{"".join(parts)}</xbrl>""".encode()


INSTANCE = build_instance()
DOCUMENTS = {PAGE_NAME: PAGE, "brk-20241231.xsd": SCHEMA, "brk-20241231_pre.xml": PRESENTATION}


@pytest.fixture
def client(app: App, user: users.NewUser) -> Client:
    return Client(app, user.api_key)


Ingest = Callable[..., dict[str, Outcome]]


@pytest.fixture
def ingest_folder(app: App, tmp_path: Path) -> Ingest:
    """Return a function that ingests documents as a folder and returns their outcomes by file name."""

    def run(documents: dict[str, bytes], folder: str = ACCESSION) -> dict[str, Outcome]:
        directory = tmp_path / folder
        directory.mkdir(exist_ok=True)
        for name, body in documents.items():
            (directory / name).write_bytes(body)
        outcomes: list[Outcome] = []
        ingest.run(app, [directory], IngestOptions(filed_at="2025-02-01"), outcomes.append)
        assert len({outcome.path for outcome in outcomes}) == len(outcomes)
        return {Path(outcome.path).name: outcome for outcome in outcomes}

    return run


def get_rows(client: Client, kind: str = "balance") -> dict[str, Any]:
    answer = client.get(STATEMENTS)
    assert answer.status == 200, answer.body
    rows = answer.json["data"]["statements"][kind]["rows"]
    return {row["concept"].removeprefix("us-gaap:"): row for row in rows if not row["abstract"]}


# ---- ingest


def test_a_page_without_an_instance_is_a_report(client: Client, ingest_folder: Ingest) -> None:
    outcomes = ingest_folder(DOCUMENTS)
    assert {outcome.outcome for outcome in outcomes.values()} == {"ingested"}
    assert {outcome.accession for outcome in outcomes.values()} == {ACCESSION}
    assert {name: row["values"] for name, row in get_rows(client).items()} == {
        "Assets": ["5000000000"],
        "Liabilities": ["2100000000"],
        "StockholdersEquity": ["2900000000"],
    }
    assert get_rows(client, "income")["ProfitLoss"]["values"] == ["-300000000"]
    meta = client.get(STATEMENTS).json["meta"]
    assert (meta["form_type"], meta["period_of_report"], meta["company_name"]) == (
        "10-K",
        "2024-12-31",
        "Brook Lamps Inc.",
    )


def test_each_cell_links_to_its_printed_number(client: Client, ingest_folder: Ingest) -> None:
    ingest_folder(DOCUMENTS)
    rows = {**get_rows(client), **get_rows(client, "income")}
    assert {name: (row["fact_ids"], row["ink_urls"]) for name, row in rows.items()} == {
        "Assets": (["f-1"], [f"{VIEWER}/{PAGE_NAME}#f-1"]),
        "Liabilities": (["f-2"], [f"{VIEWER}/{PAGE_NAME}#f-2"]),
        "ProfitLoss": (["f 3"], [f"{VIEWER}/{PAGE_NAME}#f%203"]),
        "StockholdersEquity": ([None], [None]),
    }


def test_a_table_has_a_link_in_each_row(client: Client, ingest_folder: Ingest) -> None:
    ingest_folder(DOCUMENTS)
    answer = client.get(STATEMENTS, query={"format": "ndjson", "statement": "balance"})
    rows = [json.loads(line) for line in answer.body.splitlines()]
    assert [(row["value"], row["fact_id"], row["ink_url"]) for row in rows] == [
        ("5000000000", "f-1", f"{VIEWER}/{PAGE_NAME}#f-1"),
        ("2100000000", "f-2", f"{VIEWER}/{PAGE_NAME}#f-2"),
        ("2900000000", None, None),
    ]


def test_an_extracted_instance_has_the_same_links(client: Client, ingest_folder: Ingest) -> None:
    documents = {name: body for name, body in DOCUMENTS.items() if name != PAGE_NAME}
    ingest_folder({**documents, "brk-20241231_htm.xml": INSTANCE})
    assert get_rows(client)["Assets"]["ink_urls"] == [f"{VIEWER}/{PAGE_NAME}#f-1"]


def test_an_id_that_the_extraction_generated_is_not_a_link(client: Client, ingest_folder: Ingest) -> None:
    documents = {name: body for name, body in DOCUMENTS.items() if name != PAGE_NAME}
    instance = INSTANCE.replace(b'id="f-1"', b'id="ixv-21374"')
    ingest_folder({**documents, "brk-20241231_htm.xml": instance})
    rows = get_rows(client)
    assert (rows["Assets"]["fact_ids"], rows["Assets"]["ink_urls"]) == ([None], [None])
    assert rows["Liabilities"]["fact_ids"] == ["f-2"]


def test_an_instance_that_is_not_extracted_has_no_links(client: Client, ingest_folder: Ingest) -> None:
    documents = {name: body for name, body in DOCUMENTS.items() if name != PAGE_NAME}
    ingest_folder({**documents, "brk-20241231.xml": INSTANCE})
    row = get_rows(client)["Assets"]
    assert (row["values"], row["fact_ids"], row["ink_urls"]) == (["5000000000"], [None], [None])


def test_a_page_is_compared_with_its_instance(client: Client, ingest_folder: Ingest) -> None:
    outcomes = ingest_folder({**DOCUMENTS, "brk-20241231_htm.xml": build_instance("5100000000")})
    assert outcomes["brk-20241231_htm.xml"].reason == (
        "1 figure of the inline page differs from the instance, the first: us-gaap:Assets of 2024-12-31 is 5000000000 "
        "on the page and 5100000000 in the instance"
    )
    assert get_rows(client)["Assets"]["values"] == ["5100000000"]


def test_a_page_that_equals_its_instance_has_no_note(ingest_folder: Ingest) -> None:
    outcomes = ingest_folder({**DOCUMENTS, "brk-20241231_htm.xml": INSTANCE})
    assert {outcome.reason for outcome in outcomes.values()} == {None}


def test_a_page_may_arrive_after_its_instance(ingest_folder: Ingest, app: App) -> None:
    documents = {name: body for name, body in DOCUMENTS.items() if name != PAGE_NAME}
    ingest_folder({**documents, "brk-20241231_htm.xml": INSTANCE})
    outcomes = ingest_folder(DOCUMENTS)
    assert outcomes["brk-20241231_htm.xml"].outcome == "unchanged"
    assert outcomes[PAGE_NAME].outcome == "ingested"
    with app.db.read() as tx:
        assert tx._connection.execute("SELECT count(*) FROM reports").fetchone()[0] == 1
        assert tx.find_row("body_sizes")["bytes"] > 0
    assert ingest_folder({})[PAGE_NAME].outcome == "unchanged"


def test_an_invalid_page_does_not_refuse_its_instance(client: Client, ingest_folder: Ingest) -> None:
    broken = PAGE.replace(b">5,000<", b">five<")
    outcomes = ingest_folder({**DOCUMENTS, PAGE_NAME: broken, "brk-20241231_htm.xml": INSTANCE})
    assert outcomes["brk-20241231_htm.xml"].outcome == "ingested"
    assert "the inline page is not compared with the instance" in (outcomes["brk-20241231_htm.xml"].reason or "")
    assert get_rows(client)["Assets"]["values"] == ["5000000000"]


def test_an_invalid_page_without_an_instance_is_refused(app: App, ingest_folder: Ingest) -> None:
    outcomes = ingest_folder({**DOCUMENTS, PAGE_NAME: PAGE.replace(b">5,000<", b">five<")})
    assert {outcome.outcome for outcome in outcomes.values()} == {"refused"}
    assert "us-gaap:Assets: 'five' is not a number" in (outcomes[PAGE_NAME].reason or "")
    with app.db.read() as tx:
        assert tx._connection.execute("SELECT count(*) FROM reports").fetchone()[0] == 0


def test_an_unreadable_page_is_refused_without_the_other_filings(app: App, client: Client, tmp_path: Path) -> None:
    archive = tmp_path / "filings.zip"
    with zipfile.ZipFile(archive, "w") as zip_file:
        # Its kind is detected by the beginning, which is not damaged.
        padding = b"<p>" + b"x" * MAX_PREFIX_BYTES + b"</p></body>"
        zip_file.writestr(f"{ACCESSION}/damaged.htm", PAGE.replace(b"</body>", padding))
        zip_file.writestr(f"{ACCESSION}/brk-20241231.xsd", SCHEMA)
        zip_file.writestr(f"{ACCESSION}/brk-20241231_pre.xml", PRESENTATION)
        zip_file.writestr(f"{ACCESSION}/brk-20241231_htm.xml", INSTANCE)
    # The checksum of the page no longer fits its end.
    archive.write_bytes(archive.read_bytes().replace(b"</body></html>", b"</body></HTML>", 1))
    outcomes: list[Outcome] = []
    ingest.run(app, [archive], IngestOptions(), outcomes.append)
    by_name = {outcome.path.rpartition("/")[2]: outcome.outcome for outcome in outcomes}
    assert by_name == {
        "damaged.htm": "refused",
        "brk-20241231.xsd": "ingested",
        "brk-20241231_pre.xml": "ingested",
        "brk-20241231_htm.xml": "ingested",
    }
    assert get_rows(client)["Assets"]["values"] == ["5000000000"]


def test_an_unknown_text_is_reported(client: Client, ingest_folder: Ingest) -> None:
    exchange = (
        b'<ix:nonNumeric name="dei:SecurityExchangeName" contextRef="c-1" format="ixt-sec:exchnameen">Moon Exchange'
        b"</ix:nonNumeric></body>"
    )
    outcomes = ingest_folder({**DOCUMENTS, PAGE_NAME: PAGE.replace(b"</body>", exchange)})
    assert outcomes[PAGE_NAME].reason == (
        "1 text is left out, the first: dei:SecurityExchangeName: 'Moon Exchange' is not the name of a known exchange"
    )
    assert get_rows(client)["Assets"]["values"] == ["5000000000"]


def test_the_pages_of_a_set_are_one_report(client: Client, ingest_folder: Ingest) -> None:
    exhibit = build_page(build_number("7", name="us-gaap:Liabilities", context="c-2", attributes='id="x-1"'), header="")
    main = PAGE.replace(b"us-gaap:Liabilities", b"us-gaap:LiabilitiesCurrent")
    ingest_folder({**DOCUMENTS, PAGE_NAME: main, "a-exhibit.htm": exhibit})
    row = get_rows(client)["Liabilities"]
    assert (row["values"], row["ink_urls"]) == (["7"], [f"{VIEWER}/a-exhibit.htm#x-1"])


def test_a_page_of_another_filing_takes_no_documents(ingest_folder: Ingest) -> None:
    other = PAGE.replace(b"December 31, 2024", b"December 31, 2023")
    outcomes = ingest_folder(
        {
            "report_htm.xml": INSTANCE,
            "brk-20241231.xsd": SCHEMA,
            "brk-20241231_pre.xml": PRESENTATION,
            "other.htm": other,
        },
        "folder",
    )
    assert {outcome.outcome for outcome in outcomes.values()} == {"ingested"}
    accession = outcomes["report_htm.xml"].accession
    assert outcomes["brk-20241231_pre.xml"].accession == accession
    assert outcomes["other.htm"].accession != accession


def test_an_inline_filing_says_that_it_is_inline(client: Client, ingest_folder: Ingest) -> None:
    ingest_folder(DOCUMENTS)
    index = client.get(f"/api/v1/xbrl/filing/{ACCESSION}/index").json["data"]
    assert index["is_inline_xbrl"] is True


def test_a_page_without_a_cover_is_not_a_report(ingest_folder: Ingest) -> None:
    outcomes = ingest_folder({"proxy.htm": build_page(build_number("1"))})
    assert outcomes["proxy.htm"].outcome == "skipped"


def test_a_page_without_an_accession_number_has_ids_but_no_urls(client: Client, ingest_folder: Ingest) -> None:
    accession = ingest_folder(DOCUMENTS, "folder")[PAGE_NAME].accession
    assert accession is not None
    assert accession.startswith("unfiled-")
    rows = client.get(f"/api/v1/xbrl/filing/{accession}/statements").json["data"]["statements"]["balance"]["rows"]
    row = next(row for row in rows if row["concept"] == "us-gaap:Assets")
    assert (row["fact_ids"], row["ink_urls"]) == (["f-1"], [None])


def build_submission(**documents: bytes) -> bytes:
    parts = [
        f"""<SEC-DOCUMENT>{ACCESSION}.txt : 20250201
<SEC-HEADER>{ACCESSION}.hdr.sgml : 20250201
ACCESSION NUMBER:\t\t{ACCESSION}
CONFORMED SUBMISSION TYPE:\t10-K
PUBLIC DOCUMENT COUNT:\t\t{len(documents)}
CONFORMED PERIOD OF REPORT:\t20241231
FILED AS OF DATE:\t\t20250201

FILER:

\tCOMPANY DATA:
\t\tCOMPANY CONFORMED NAME:\t\t\tBROOK LAMPS INC
\t\tCENTRAL INDEX KEY:\t\t\t{CIK}
</SEC-HEADER>
""".encode()
    ]
    for seq, (name, body) in enumerate(documents.items(), 1):
        document_type = "10-K" if seq == 1 else "EX-101"
        tag = b"XML" if name.endswith("xsd") else b"XBRL"
        head = f"<DOCUMENT>\n<TYPE>{document_type}\n<SEQUENCE>{seq}\n<FILENAME>{name}\n<TEXT>\n".encode()
        parts.append(head + b"<" + tag + b">\n" + body + b"\n</" + tag + b">\n</TEXT>\n</DOCUMENT>\n")
    return b"".join([*parts, b"</SEC-DOCUMENT>\n"])


def test_a_full_submission_with_an_inline_page_is_a_report(app: App, client: Client, tmp_path: Path) -> None:
    file = tmp_path / f"{ACCESSION}.txt"
    file.write_bytes(build_submission(**DOCUMENTS))
    outcomes: list[Outcome] = []
    ingest.run(app, [file], IngestOptions(), outcomes.append)
    assert [(outcome.outcome, outcome.accession) for outcome in outcomes] == [("ingested", ACCESSION)]
    row = get_rows(client)["Assets"]
    assert (row["values"], row["ink_urls"]) == (["5000000000"], [f"{VIEWER}/{PAGE_NAME}#f-1"])


# ---- proofs

PROOF = {"ticker": CIK, "period": "A", "fiscal_year": "2024", "fiscal_period": "FY"}


def test_the_operands_of_a_proof_link_to_their_numbers(client: Client, ingest_folder: Ingest) -> None:
    ingest_folder(DOCUMENTS)
    answer = client.get("/api/v1/xbrl/proof", query={**PROOF, "metric": "total_assets"})
    assert answer.status == 200, answer.body
    cell = answer.json["data"]["cell"]
    assert [(fact["fact_id"], fact["ink_url"]) for fact in cell["operands"]] == [("f-1", f"{VIEWER}/{PAGE_NAME}#f-1")]
    assert [fact["fact_id"] for fact in answer.json["data"]["vintages"]] == ["f-1"]


def test_a_proof_without_elements_has_null_links(client: Client, ingest_folder: Ingest) -> None:
    ingest_folder(DOCUMENTS)
    cell = client.get("/api/v1/xbrl/proof", query={**PROOF, "metric": "total_equity"}).json["data"]["cell"]
    assert [(fact["fact_id"], fact["ink_url"]) for fact in cell["operands"]] == [(None, None)]


def test_the_proof_page_links_to_the_printed_numbers(make_app: Callable[..., App], tmp_path: Path) -> None:
    app = make_app(pages="public")
    browser = Client(app)
    folder = tmp_path / ACCESSION
    folder.mkdir()
    for name, body in DOCUMENTS.items():
        (folder / name).write_bytes(body)
    proof_path = f"/company/{CIK}/proof/total_assets/A2024FY"
    ingest.run(app, [folder], IngestOptions(), lambda outcome: None)
    assert f'<a href="{VIEWER}/{PAGE_NAME}#f-1" rel="noreferrer">5,000,000,000</a>' in get_page(browser, proof_path)
    # If the document is stored, its page here shows the number.
    file = tmp_path / f"{ACCESSION}.txt"
    file.write_bytes(build_submission(**DOCUMENTS))
    ingest.run(app, [file], IngestOptions(), lambda outcome: None)
    link = f"/filing/{ACCESSION}/document?document={PAGE_NAME}&amp;fact=f-1"
    assert get_page(browser, proof_path).count(f'<a href="{link}">5,000,000,000</a>') == 2
    location = browser.get(unescape(link), headers=HTML).headers["location"]
    assert location == f"/filing/{ACCESSION}/document?part=1&document={PAGE_NAME}#f-1"
    assert '<span id="f-1">5,000</span>' in browser.get(location.partition("#")[0], headers=HTML).body.decode()


def test_cells_of_series_and_overview_link_to_their_numbers(client: Client, ingest_folder: Ingest) -> None:
    ingest_folder(DOCUMENTS)
    path = "/api/v1/xbrl/timeseries"
    query = {"ticker": CIK, "metrics": "total_assets,total_equity,goodwill,liabilities_to_equity"}
    (row,) = client.get(path, query={**query, "provenance": "full"}).json["data"]["rows"]
    links = {key: (cell["fact_id"], cell["ink_url"]) for key, cell in row["metrics"].items()}
    assert links == {
        "total_assets": ("f-1", f"{VIEWER}/{PAGE_NAME}#f-1"),
        "total_equity": (None, None),
        "goodwill": (None, None),
        "liabilities_to_equity": (None, None),
    }
    operands = row["metrics"]["liabilities_to_equity"]["operands"]
    assert [(fact["concept"], fact["fact_id"], fact["ink_url"]) for fact in operands] == [
        ("us-gaap:Liabilities", "f-2", f"{VIEWER}/{PAGE_NAME}#f-2"),
        ("us-gaap:StockholdersEquity", None, None),
    ]
    body = {"ciks": [CIK], "metrics": ["total_assets"], "provenance": "full"}
    (result,) = client.post(f"{path}/batch", body).json["data"]["results"]
    assert result["data"]["rows"][0]["metrics"]["total_assets"]["fact_id"] == "f-1"
    lines = client.get(path, query={**query, "layout": "long", "format": "ndjson"}).body.splitlines()
    assert [(cell["metric"], cell["fact_id"], cell["ink_url"]) for cell in map(json.loads, lines)] == [
        (key, *link) for key, link in links.items()
    ]
    (row,) = client.get(path, query={**query, "provenance": "summary"}).json["data"]["rows"]
    assert "fact_id" not in row["metrics"]["total_assets"]
    overview = client.get(f"/api/v1/tickers/{CIK}/overview").json["data"]
    assert (overview["net_income"], overview["ink_urls"]) == (
        -300_000_000,
        {"net_income": f"{VIEWER}/{PAGE_NAME}#f%203"},
    )


# ---- conflicting values


def build_assets(text: str, decimals: str = "-6", attributes: str = DOT) -> str:
    return build_number(text, attributes=f'{attributes} scale="6" decimals="{decimals}"')


def ingest_repeated_assets(ingest_folder: Ingest, *numbers: str) -> None:
    """Ingest the page with further numbers for its assets, which it states as 5,000 million."""
    ingest_folder({**DOCUMENTS, PAGE_NAME: build_page(PAGE_BODY + "".join(numbers), hidden=HIDDEN_COVER)})


def test_numbers_of_equal_precision_conflict(app: App, client: Client, ingest_folder: Ingest) -> None:
    ingest_repeated_assets(ingest_folder, *map(build_assets, ("5,100", "5,000", "4,900", "5,100.0")))
    rows = get_rows(client)
    assert (rows["Assets"]["values"], rows["Assets"]["marks"]) == (["5000000000"], [None])
    assert rows["Assets"]["conflicting_values"] == [["5100000000", "4900000000"]]
    assert "conflicting_values" not in rows["Liabilities"]
    table = client.get(STATEMENTS, query={"format": "ndjson", "statement": "balance"})
    assert [(row["status"], row["reason"]) for row in map(json.loads, table.body.splitlines())] == [
        ("conflicting", "conflicting_values"),
        (None, None),
        (None, None),
    ]
    proof_of_assets = client.get("/api/v1/xbrl/proof", query={**PROOF, "metric": "total_assets"}).json["data"]
    facts = (*proof_of_assets["cell"]["operands"], *proof_of_assets["vintages"])
    assert [fact["conflicting_values"] for fact in facts] == [[5_100_000_000, 4_900_000_000]] * 2
    proof = client.get("/api/v1/xbrl/proof", query={**PROOF, "metric": "total_liabilities"}).json["data"]
    assert all("conflicting_values" not in fact for fact in (*proof["cell"]["operands"], *proof["vintages"]))
    query = {"cik": CIK, "tag": "Assets,Liabilities"}
    filed_facts = client.get("/api/v1/xbrl/facts", query=query).json["data"]
    assert [(fact["concept"], fact["value"], fact.get("conflicting_values", "none")) for fact in filed_facts] == [
        ("Assets", 5_000_000_000, [5_100_000_000, 4_900_000_000]),
        ("Liabilities", 2_100_000_000, "none"),
    ]
    fact_table = client.get("/api/v1/xbrl/facts", query={**query, "format": "csv"}).body.decode()
    conflicting_cells = [row["conflicting_values"] for row in csv.DictReader(io.StringIO(fact_table))]
    assert conflicting_cells == ["[5100000000,4900000000]", ""]
    series = client.get("/api/v1/xbrl/timeseries", query={"ticker": CIK, "metrics": "total_assets,total_liabilities"})
    [row] = series.json["data"]["rows"]
    assert row["conflicting_values"] == ["total_assets"]
    assert (proof_of_assets["cell"]["marks"], proof_of_assets["cell"]["confidence"]) == (["conflicting_values"], 75)
    claim = {"cik": CIK, "metric": "total_assets", "period": "2024-12-31"}
    claims = [{**claim, "value": value} for value in ("5.0 billion", "5.1 billion")]
    results = client.post("/api/v1/claims", {"claims": claims}).json["data"]["results"]
    assert [(result["verdict"], result["reason_code"]) for result in results] == [
        ("matches", None),
        ("cannot_tell", "doubtful_figure"),
    ]
    with app.db.read() as tx:
        [(report, _, _)] = xbrl_intake.FAMILY.iter_pack_rows(tx)
    assert [(report.facts[conflict.fact].concept, conflict.value) for conflict in report.conflicts] == [
        ("us-gaap:Assets", "5100000000"),
        ("us-gaap:Assets", "4900000000"),
    ]


def test_more_precise_number_ends_a_conflict(client: Client, ingest_folder: Ingest) -> None:
    ingest_repeated_assets(ingest_folder, build_assets("5,100"), build_assets("5,000.4", "-5"), build_assets("4,900"))
    row = get_rows(client)["Assets"]
    assert (row["values"], row["decimals"]) == (["5000400000"], -5)
    assert "conflicting_values" not in row


def test_missing_number_does_not_conflict(client: Client, ingest_folder: Ingest) -> None:
    ingest_repeated_assets(ingest_folder, build_assets("", attributes='xsi:nil="true"'))
    row = get_rows(client)["Assets"]
    assert (row["values"], "conflicting_values" in row) == (["5000000000"], False)


def test_stored_conflicting_values_are_bounded(client: Client, ingest_folder: Ingest) -> None:
    ingest_repeated_assets(ingest_folder, *[build_assets(str(number)) for number in range(1, 30)])
    [values] = get_rows(client)["Assets"]["conflicting_values"]
    assert values == [f"{number}000000" for number in range(1, MAX_CONFLICTING_VALUES + 1)]


# ---- a real page


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "edgar").is_dir(), reason="the real filings (../shared/edgar) are not here")
def test_a_real_page_has_the_statements_of_its_instance(app: App, client: Client, tmp_path: Path) -> None:
    folder = SHARED / "edgar" / "xbrl" / "aapl-10q-20250329_0000320193-25-000057"
    copy = tmp_path / "0000320193-25-999999"
    copy.mkdir()
    for path in folder.glob("aapl-20250329*"):
        if not path.name.endswith("_htm.xml"):
            (copy / path.name).write_bytes(path.read_bytes())
    answers = []
    for directory, accession in ((folder, "0000320193-25-000057"), (copy, copy.name)):
        ingest.run(app, [directory], IngestOptions(), lambda outcome: None)
        url = f"/api/v1/xbrl/filing/{accession}/statements?consolidated_only=false"
        body = json.dumps(client.get(url).json["data"]).replace(accession, "").replace(accession.replace("-", ""), "")
        answers.append(json.loads(body))
    assert len(answers[0]["statements"]) == 6
    assert answers[0] == answers[1]


def test_stored_pages_are_the_names_of_the_files(app: App, ingest_folder: Ingest) -> None:
    ingest_folder(DOCUMENTS)
    with app.db.read() as tx:
        (pages,) = tx._connection.execute("SELECT pages FROM reports").fetchone()
    assert json.loads(pages) == [PAGE_NAME]
