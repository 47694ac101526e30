"""The descriptions of the mapping's rules: each rule has one, and it names the tags that the rule reads."""

from __future__ import annotations

import re

import pytest

from finapi.core.files import get_package_folder
from finapi.market.financials import metric_dictionary, metric_mapping, rule_words
from finapi.market.financials.metric_mapping import FACE_PREFIX, INDUSTRIES, LazyPattern, Metric, Rule
from tests.support.case_tables import run_each_case

EVERY = list(metric_mapping.get_mapping().metrics.values())
# Words of the sentences that begin with a capital and are no names.
PLAIN = {"A", "Minus", "Of", "The", "IFRS"}


LABELLED_EQUITY = "the line labelled as total_equity"


def name_pattern(pattern: LazyPattern) -> str:
    return f"a custom tag matching {pattern.text}"


def list_tag_names(rule: Rule) -> set[str]:
    """Return the local names of the tags that a rule reads."""
    names = (*rule.tags, *(name for term in rule.terms for name in term.names))
    return {name.partition(":")[2] for name in names if not name.startswith(FACE_PREFIX)}


@run_each_case("metric", EVERY)
def test_a_rule_description_names_exactly_its_tags(metric: Metric) -> None:
    every = rule_words.describe_rules(metric)
    for industry in INDUSTRIES:
        for rule in metric.rules[industry]:
            words = rule_words.describe_rule(rule, metric)
            assert any(sentence.endswith(words) for sentence in every), words
            plain, _, exceptions = words.partition(", unless it reports ")
            for pattern in rule.custom_patterns:
                assert f"custom tag matching {pattern.text}" in words
                plain = plain.replace(pattern.text, "")
            assert set(re.findall(r"\b[A-Z][A-Za-z0-9]*\b", plain)) - PLAIN == list_tag_names(rule)
            tags, patterns = rule.unless_reported
            for name in re.split(" or |\\.$", exceptions)[:-1]:
                assert name in [*(tag.partition(":")[2] for tag in tags), *map(name_pattern, patterns), LABELLED_EQUITY]


def test_the_dictionary_describes_every_rule() -> None:
    rules_by_key = {entry["key"]: entry["rules"] for entry in metric_dictionary.list_entries("primitive")}
    assert list(rules_by_key) == [metric.key for metric in EVERY]
    for metric in EVERY:
        rules = {rule.text for industry in INDUSTRIES for rule in metric.rules[industry]}
        assert len(rules_by_key[metric.key]) >= len(rules), metric.key
        assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in rules_by_key[metric.key]), (
            metric.key
        )


def test_a_formula_with_exceptions_says_so() -> None:
    sentences = metric_dictionary.list_entries("primitive")
    rules = next(entry["rules"] for entry in sentences if entry["key"] == "total_liabilities")
    assert (
        "LiabilitiesCurrent, plus LiabilitiesNoncurrent, all from one filing, unless it reports the line labelled as "
        "total_equity or a custom tag matching [A-Za-z]*Capitali[sz]ation[A-Za-z]*."
    ) in rules


@run_each_case(
    "key, words",
    [
        ("revenue", "Of banks: InterestIncomeExpenseNet, plus NoninterestIncome, all from one filing."),
        (
            "long_term_debt",
            "SeniorLongTermNotes or else LongTermNotesPayable or else SeniorNotesNoncurrent, plus "
            "ConvertibleDebtNoncurrent or else ConvertibleLongTermNotesPayable "
            "or else ConvertibleNotesPayableNoncurrent if reported, all from one filing.",
        ),
        ("shares_outstanding", "EntityCommonStockSharesOutstanding (cover page)."),
        ("net_income", "ProfitLoss, less NetIncomeLossAttributableToNoncontrollingInterest, all from one filing."),
        ("gross_profit", "Nothing is summed for a filing that also reports FinancialServicesRevenue."),
        (
            "goodwill",
            "Amounts in parentheses on the balance sheet are parts of their line and are not used as figures.",
        ),
        (
            "cost_of_revenue",
            "The sum of the cost lines between revenue and gross profit, if they make up the difference.",
        ),
        ("eps_basic", "Never derived by adding or subtracting other periods."),
        ("temporary_equity", "The sum of the lines between liabilities and equity on the balance sheet."),
    ],
)
def test_rules_read_as_sentences(key: str, words: str) -> None:
    assert words in rule_words.describe_rules(metric_mapping.get_mapping().metrics[key])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("label = ", "lable = ", "metric revenue: unknown key 'lable'; did you mean 'label'?"),
        ('statement = "income_statement"\n', "", "metric revenue: 'statement' is missing"),
        (
            "from = [\n",
            'from = [\n  "= nosuch_metric + net_income",\n',
            "metric revenue: 'nosuch_metric' in a formula is not a metric",
        ),
    ],
)
def test_a_mistake_in_the_mapping_names_metric_and_word(old: str, new: str, message: str) -> None:
    text = get_package_folder("finapi.market.financials").joinpath("metrics.toml").read_text(encoding="utf-8")
    start = text.index("[metric.revenue]")
    with pytest.raises(ValueError, match=re.escape(message)):
        metric_mapping.parse(text[:start] + text[start:].replace(old, new, 1))


def test_an_operators_invalid_pattern_of_custom_tags_is_refused() -> None:
    text = get_package_folder("finapi.market.financials").joinpath("metrics.toml").read_text(encoding="utf-8")
    changed_text = text.replace("ext:(Total)?NetRevenues?", "ext:(Total?NetRevenues?", 1)
    assert changed_text != text
    with pytest.raises(re.error, match=re.escape("missing ), unterminated subpattern")):
        metric_mapping.parse_untrusted(changed_text)
