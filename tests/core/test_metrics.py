"""Tests of the Prometheus metrics, read by Prometheus's own parser."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from finapi.core import metrics
from finapi.core.metrics import MetricFamily, Metrics
from tests.support.case_tables import run_each_case

THINGS = MetricFamily("finapi_things_total", "counter", "Things.", ("kind", "place"))
DEPTH = MetricFamily("finapi_depth", "gauge", "Depth.", ("queue",))


def families(text: str) -> dict[str, Any]:
    """Return every metric family of a text by name, parsed by Prometheus's own client."""
    metric_families = list(text_string_to_metric_families(text))
    assert len({family.name for family in metric_families}) == len(metric_families), "a family stands twice"
    return {family.name: family for family in metric_families}


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return every sample of a text: name and labels to value."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families(text).values()
        for sample in family.samples
    }


def value(text: str, name: str, **labels: str) -> float | None:
    return samples(text).get((name, tuple(sorted(labels.items()))))


def test_a_counter_counts_by_its_labels() -> None:
    metrics = Metrics()
    metrics.count(THINGS, "big", "here")
    metrics.count(THINGS, "big", "here", by=2.5)
    metrics.count(THINGS, "small", "here")
    text = metrics.render({})
    assert value(text, "finapi_things_total", kind="big", place="here") == 3.5
    assert value(text, "finapi_things_total", kind="small", place="here") == 1
    assert (families(text)["finapi_things"].type, families(text)["finapi_things"].documentation) == (
        "counter",
        "Things.",
    )


def test_a_counter_without_labels_is_zero_from_the_start() -> None:
    assert value(Metrics().render({}), "finapi_tokens_charged_total") == 0


def test_a_counter_with_the_wrong_labels_raises_an_error() -> None:
    metrics = Metrics()
    metrics.count(THINGS, "big")
    with pytest.raises(ValueError):
        metrics.render({})


@run_each_case("label", ['"', "\\", "\n", '\\"\n', "ä 日", 'a="b",c="d"}', ""])
def test_a_label_is_read_back_as_it_was(label: str) -> None:
    metrics = Metrics()
    metrics.count(THINGS, label, "here")
    assert value(metrics.render({}), "finapi_things_total", kind=label, place="here") == 1


def test_a_histogram_counts_what_lies_within_each_bound() -> None:
    metrics = Metrics()
    for seconds in (0.0, 0.001, 0.0011, 0.25, 300.0, 301.0):
        metrics.count_request(("GET", "/a", "200"), seconds)
    text = metrics.render({})
    labels = {"method": "GET", "route": "/a"}
    within = {
        dict(sample_labels)["le"]: number
        for (name, sample_labels), number in samples(text).items()
        if name == "finapi_request_seconds_bucket"
    }
    assert (within["0.001"], within["0.0025"], within["0.1"], within["0.25"]) == (2, 3, 3, 4)
    assert (within["60"], within["300"], within["+Inf"]) == (4, 5, 6)
    assert value(text, "finapi_request_seconds_count", **labels) == 6
    assert value(text, "finapi_request_seconds_sum", **labels) == pytest.approx(601.2521)


def test_requests_count_by_route_and_status_and_time_by_route() -> None:
    metrics = Metrics()
    for status, seconds in (("200", 0.004), ("200", 0.006), ("404", 0.002)):
        metrics.count_request(("GET", "/a/{b}", status), seconds)
    text = metrics.render({})
    labels = {"method": "GET", "route": "/a/{b}"}
    assert value(text, "finapi_requests_total", **labels, status="200") == 2
    assert value(text, "finapi_requests_total", **labels, status="404") == 1
    assert value(text, "finapi_request_seconds_count", **labels) == 3
    assert value(text, "finapi_request_seconds_sum", **labels) == pytest.approx(0.012)
    assert value(text, "finapi_request_seconds_bucket", **labels, le="0.005") == 2


def test_tokens_and_refusals_are_counted_with_their_request() -> None:
    metrics = Metrics()
    metrics.count_request(("GET", "/a", "200"), 0.0, tokens=25)
    metrics.count_request(("GET", "/a", "200"), 0.0, tokens=10)
    metrics.count_request(("GET", "/a", "429"), 0.0, refusal=("RATE_LIMIT_EXCEEDED", "xbrl"))
    metrics.count_request(("GET", "/a", "404"), 0.0, refusal=("NOT_FOUND", "xbrl"))
    text = metrics.render({})
    assert value(text, "finapi_tokens_charged_total") == 35
    assert value(text, "finapi_refusals_total", code="RATE_LIMIT_EXCEEDED", zone="xbrl") == 1
    assert value(text, "finapi_refusals_total", code="NOT_FOUND", zone="xbrl") is None


def test_looked_up_figures_are_read_each_time() -> None:
    metrics = Metrics()
    depth = {("mail",): 1.0}
    metrics.register(DEPTH, lambda: depth)
    assert value(metrics.render({}), "finapi_depth", queue="mail") == 1
    depth[("mail",)] = 7.0
    text = metrics.render({DEPTH: {("ingest",): 3.0}})
    assert value(text, "finapi_depth", queue="mail") == 7
    assert value(text, "finapi_depth", queue="ingest") == 3


def test_the_process_tells_its_memory_time_files_and_threads() -> None:
    text = Metrics().render({})
    assert 5e6 < (value(text, "process_resident_memory_bytes") or 0) < 4e9
    assert (value(text, "process_virtual_memory_bytes") or 0) > 5e6
    assert (value(text, "process_cpu_seconds_total") or 0) > 0
    assert 3 <= (value(text, "process_open_fds") or 0) < 10_000
    assert value(text, "finapi_threads") == threading.active_count()


def test_no_count_is_lost_between_threads() -> None:
    metrics = Metrics()

    def work() -> None:
        for _ in range(2000):
            metrics.count_request(("GET", "/a", "200"), 0.001, tokens=1)
            metrics.count(THINGS, "a", "b")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = metrics.render({})
    assert value(text, "finapi_requests_total", method="GET", route="/a", status="200") == 16_000
    assert value(text, "finapi_tokens_charged_total") == 16_000
    assert value(text, "finapi_things_total", kind="a", place="b") == 16_000


def test_every_family_has_a_name_of_its_own_that_says_its_kind() -> None:
    names = [family.name for family in metrics.FAMILIES]
    assert len(set(names)) == len(names)
    for family in metrics.FAMILIES:
        assert family.name.endswith("_total") == (family.kind == "counter"), family
        assert family.help.endswith("."), family
