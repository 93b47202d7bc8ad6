from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.testing.web import (
    Log,
    Request,
    assert_no_disallowed,
    assert_polite,
    assert_retry_after,
    assert_robots_first,
    fetch_counts,
    gaps,
    make_web,
    peak_concurrency,
    read_log,
)

HOST = "http://host-0.test"


def _request(path: str, started: float, ended: float, status: int = 200, retry_after: float | None = None) -> Request:
    return Request(
        host=HOST,
        path=path,
        started=started,
        ended=ended,
        status=status,
        robots=path == "/robots.txt",
        retry_after=retry_after,
    )


ROBOTS = _request("/robots.txt", 0.0, 0.1)


def test_gaps_run_from_the_end_of_one_to_the_start_of_the_next() -> None:
    log = [_request("/a", 1.0, 1.5), _request("/b", 2.5, 2.6), _request("/c", 2.55, 4.0)]
    assert gaps(log, HOST) == pytest.approx([1.0, -0.05])
    assert gaps(log, "http://other.test") == []


def test_a_gap_is_measured_from_the_latest_end_not_the_last_start() -> None:
    log = [_request("/long", 1.0, 5.0), _request("/short", 1.1, 1.2), _request("/next", 5.5, 6.0)]
    assert gaps(log, HOST)[-1] == pytest.approx(0.5)


def test_concurrency_counts_overlaps_and_not_touches() -> None:
    assert peak_concurrency([_request("/a", 1, 2), _request("/b", 2, 3)], HOST) == 1
    assert peak_concurrency([_request("/a", 1, 2), _request("/b", 1.5, 3), _request("/c", 1.6, 1.7)], HOST) == 3


def test_a_short_gap_is_impolite() -> None:
    log = [_request("/a", 1.0, 1.5), _request("/b", 2.0, 2.1)]
    assert_polite(log, HOST, delay=0.5)
    with pytest.raises(AssertionError, match=r"0\.5000 s after the request before, should be 1 s: GET .*/b"):
        assert_polite(log, HOST, delay=1.0)


def test_two_at_once_are_impolite_unless_allowed() -> None:
    log = [_request("/a", 1.0, 2.0), _request("/b", 1.5, 2.5)]
    assert_polite(log, HOST, delay=0, concurrency=2)
    with pytest.raises(AssertionError, match="2 requests at once, allowed are 1"):
        assert_polite(log, HOST, delay=0)


def test_a_page_before_robots_is_caught() -> None:
    assert_robots_first([ROBOTS, _request("/", 0.1, 0.2)])
    with pytest.raises(AssertionError, match="before the verdict"):
        assert_robots_first([ROBOTS, _request("/", 0.05, 0.2)])
    with pytest.raises(AssertionError, match="without any verdict"):
        assert_robots_first([_request("/", 0.05, 0.2)])


@pytest.mark.parametrize("status", [503, 500, 429])
def test_an_answer_that_says_nothing_is_no_verdict(status: int) -> None:
    with pytest.raises(AssertionError, match="without any verdict"):
        assert_robots_first([_request("/robots.txt", 0, 0.1, status), _request("/", 1, 1.1)])
    assert_robots_first([_request("/robots.txt", 0, 0.1, status), _request("/robots.txt", 2, 2.1), _request("/", 3, 4)])


def test_a_missing_robots_file_is_a_verdict() -> None:
    assert_robots_first([_request("/robots.txt", 0, 0.1, 404), _request("/", 1, 1.1)])


def test_a_forbidden_page_is_caught() -> None:
    web = make_web(1, 1, 5)
    assert_no_disallowed([ROBOTS, _request("/private/open/1", 1, 2)], web)
    with pytest.raises(AssertionError, match=r"disallows GET .*/private/1"):
        assert_no_disallowed([ROBOTS, _request("/private/1", 1, 2)], web)


def test_coming_back_too_early_is_caught() -> None:
    told = _request("/a", 1.0, 1.1, 429, retry_after=2.0)
    assert_retry_after([told, _request("/b", 3.1, 3.2)])
    with pytest.raises(AssertionError, match=r"0\.100 s too early after Retry-After: 2: GET .*/b"):
        assert_retry_after([told, _request("/b", 3.0, 3.2)])


def test_fetches_are_counted_by_url() -> None:
    counts = fetch_counts([_request("/a", 1, 2), _request("/a", 3, 4), _request("/b", 5, 6)])
    assert counts == {f"{HOST}/a": 2, f"{HOST}/b": 1}


def test_a_snapshot_is_in_order_of_starts_and_the_file_holds_the_same(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    with Log(file) as log:
        log.add(_request("/short", 1.5, 1.6))
        log.add(_request("/long", 1.0, 2.0))
        assert [request.path for request in log.snapshot()] == ["/long", "/short"]
        assert read_log(file) == log.snapshot()
        log.clear()
        assert len(log) == 0
