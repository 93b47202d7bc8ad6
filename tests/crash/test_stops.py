"""Stopped, crippled, limited or crowded: what is not a crash of the whole, and must not look like one."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import pytest

from gossamer.model import EndReason, SourceState, State
from gossamer.testing.web import differences, fetch_counts
from tests.crash.conftest import Rehearsal
from tests.crash.inquest import file_problems
from tests.crash.look import look
from tests.crash.webs import GUIDES, fetch_problems, impoliteness

INTERRUPTED = 130


@pytest.mark.parametrize(("number", "to_all"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_signal_stops_it_cleanly_and_soon(rehearsal: Rehearsal, number: signal.Signals, to_all: bool) -> None:
    inquest = rehearsal.small(1)
    with inquest.crawler.crawl() as life:
        assert life.wait_for_requests(12)
        life.signal(number, to_all=to_all)
        asked = time.monotonic()
        assert life.wait() == INTERRUPTED, life.stderr
        assert time.monotonic() - asked < 5.0
        assert life.summary.reason is EndReason.INTERRUPTED
    stopped = inquest.after_death()
    assert stopped.source is not None
    assert stopped.source.state is SourceState.STOPPED
    assert not stopped.in_flight
    assert not file_problems(inquest.crawler.out, stopped.final)
    inquest.to_the_end()
    assert not inquest.problems


def test_a_second_signal_ends_it_at_once_and_costs_no_more_than_a_crash(rehearsal: Rehearsal) -> None:
    inquest = rehearsal.small(2)
    with inquest.crawler.crawl() as life:
        assert life.wait_for_requests(12)
        life.signal(signal.SIGINT, to_all=True)
        life.signal(signal.SIGINT, to_all=True)
        assert life.wait() == INTERRUPTED, life.stderr
    inquest.to_the_end()
    assert not inquest.problems


def test_a_child_that_is_killed_costs_one_page_at_most(rehearsal: Rehearsal) -> None:
    inquest = rehearsal.small(1)
    with inquest.crawler.crawl() as life:
        assert life.wait_for_requests(12)
        os.kill(life.children()[0], signal.SIGKILL)
        assert life.wait() == 0, life.stderr
    crawler, seen = inquest.crawler, look(inquest.crawler.data)
    blamed = [record.url for record in seen.records(State.FAILED).values() if (record.error or "").startswith("worker")]
    wrong = differences(inquest.expected, seen.final.values())
    assert len(blamed) <= 1
    assert all(blamed[0] in problem for problem in wrong) if blamed else not wrong
    attempts = {url: page.attempts for url, page in seen.pages.items()}
    attempts |= {guide.url: guide.attempts for guide in seen.guides}
    returned = Counter({url: tried - 1 for url, tried in attempts.items() if tried > 1})
    assert returned.total() <= len(inquest.web.hosts)
    log = crawler.server.requests()
    assert not fetch_problems(inquest.web, inquest.expected, log, returned)
    assert not impoliteness(inquest.web, log, inquest.delay)
    assert not file_problems(crawler.out, seen.final)


def test_a_child_that_is_stopped_for_a_while_only_takes_longer(rehearsal: Rehearsal) -> None:
    inquest = rehearsal.small(2)
    with inquest.crawler.crawl() as life:
        assert life.wait_for_requests(12)
        child = life.children()[0]
        os.kill(child, signal.SIGSTOP)
        life.wait_for_time(1.0)
        os.kill(child, signal.SIGCONT)
        life.wait()
        inquest.at_end(life)
    assert not inquest.problems


def test_max_pages_is_exact_also_across_a_crash(rehearsal: Rehearsal) -> None:
    inquest = rehearsal.small(1)
    with inquest.crawler.crawl("--max-pages", "17", failpoint="page-uncommitted:6") as life:
        assert life.wait() == -signal.SIGKILL, life.stderr
    in_flight = inquest.after_death().in_flight
    assert in_flight
    with inquest.next_life() as life:
        assert life.wait() == 0, life.stderr
        assert life.summary.reason is EndReason.MAX_PAGES
    asked = (request for request in inquest.crawler.server.requests() if not request.robots)
    often = fetch_counts(request for request in asked if request.path not in GUIDES)
    assert len(often) == 17
    assert {url for url, count in often.items() if count > 1} <= set(in_flight)
    seen = inquest.after_death()
    assert not inquest.problems
    assert not file_problems(inquest.crawler.out, seen.final)


def test_resuming_what_is_finished_changes_nothing(rehearsal: Rehearsal) -> None:
    inquest = rehearsal.small(3)
    inquest.to_the_end()
    file, requests = inquest.crawler.out.read_bytes(), len(inquest.crawler.server.log)
    for flags in ((), ("--out", str(inquest.crawler.out))):
        with inquest.crawler.resume(*flags) as life:
            life.wait()
            inquest.at_end(life)
    assert not inquest.problems
    assert inquest.crawler.out.read_bytes() == file
    assert len(inquest.crawler.server.log) == requests


def test_a_second_process_in_the_directory_is_refused_with_one_line_and_disturbs_nobody(rehearsal: Rehearsal) -> None:
    inquest = rehearsal.small(2)
    with inquest.crawler.crawl() as life:
        assert life.wait_for_requests(3)
        life.signal(signal.SIGSTOP)
        for command in (inquest.crawler.crawl, inquest.crawler.resume):
            with command() as second:
                assert second.wait() == 3
            assert f"{inquest.crawler.data} is in use by process {life.pid}" in second.stderr.splitlines()[-1]
            assert "Traceback" not in second.stderr
        life.signal(signal.SIGCONT)
        life.wait()
        inquest.at_end(life)
    assert not inquest.problems


def test_verify_on_the_command_line_finds_a_killed_store_sound(rehearsal: Rehearsal) -> None:
    inquest = rehearsal.small(1)
    with inquest.crawler.crawl(failpoint="page-committed:3") as life:
        life.wait()
    assert inquest.crawler.verify() == (0, f"{inquest.crawler.data} is sound\n")
    inquest.to_the_end()
    assert not inquest.problems
