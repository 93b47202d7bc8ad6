from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPMessage

import pytest

from gossamer.testing.evolving import VALIDATORS, Evolving, Validator
from tests.testing.maze_walker import Client, Page

NOW = 1_800_000_000.25


@pytest.fixture
def client() -> Iterator[Client]:
    it = Client()
    yield it
    it.close()


@pytest.fixture
def site() -> Iterator[Evolving]:
    with Evolving(1, 120, clock=lambda: NOW) as running:
        yield running


def _crawl(client: Client, site: Evolving) -> dict[str, Page]:
    """All that links lead to."""
    found: dict[str, Page] = {}
    waiting = [site.url("/")]
    while waiting:
        url = waiting.pop()
        if url not in found:
            found[url] = client.page(url)
            waiting += found[url].links
    return found


def _known(headers: HTTPMessage) -> dict[str, str]:
    """How one who has a page asks for it again."""
    asked = {"If-None-Match": headers["ETag"], "If-Modified-Since": headers["Last-Modified"]}
    return {name: value for name, value in asked.items() if value}


def test_every_page_is_linked(site: Evolving, client: Client) -> None:
    assert _crawl(client, site).keys() == {*site.urls, *site.indices}
    assert (len(site.urls), len(site.indices)) == (120, 4)


def test_pages_have_texts_of_their_own(site: Evolving, client: Client) -> None:
    texts = {page.text for page in _crawl(client, site).values()}
    assert len(texts) == 124
    assert all(len(text.split()) >= 80 for text in texts)


def test_the_same_seed_makes_the_same_history() -> None:
    def history(seed: int) -> list[list[str]]:
        site = Evolving(seed, 50)
        return [site.change(3), site.remove(2), site.add(2), site.flicker(1)]

    assert history(4) == history(4)
    assert history(4) != history(5)


def test_all_kinds_of_validators_are_dealt_out(site: Evolving, client: Client) -> None:
    kinds = Counter(_kind(page.headers) for page in _crawl(client, site).values())
    assert kinds.keys() == set(VALIDATORS)
    assert min(kinds.values()) > 10


def _kind(headers: HTTPMessage) -> Validator:
    tag, date = headers["ETag"] or "", headers["Last-Modified"]
    if tag and date:
        return Validator.BOTH
    if tag:
        return Validator.WEAK if tag.startswith("W/") else Validator.STRONG
    return Validator.DATE if date else Validator.NONE


def test_pages_without_validators_are_there_when_asked_for(client: Client) -> None:
    with Evolving(1, 10, validators=[Validator.NONE]) as site:
        page = client.page(site.urls[0])
        assert _kind(page.headers) is Validator.NONE
        known = {"If-None-Match": '"x"', "If-Modified-Since": "Wed, 01 Jan 2098 00:00:00 GMT"}
        assert client.get(page.url, **known)[0] == 200


def test_one_who_knows_a_page_gets_no_body_until_it_changes(site: Evolving, client: Client) -> None:
    before = _crawl(client, site)
    site.log.clear()
    assert {client.get(url, **_known(page.headers))[::2] for url, page in before.items()} == {(304, b"")}
    assert {(it.conditional, it.status, it.sent) for it in site.requests()} == {(True, 304, 0)}
    changed = site.change(10)
    again = {url: client.get(url, **_known(page.headers)) for url, page in before.items()}
    assert {url for url, answer in again.items() if answer[0] == 200} == set(changed)
    assert all(Page(url, *again[url]).text != before[url].text for url in changed)


def test_a_304_says_which_version_it_means(site: Evolving, client: Client) -> None:
    for url in site.urls[:8]:
        first = client.page(url)
        _, headers, _ = client.get(url, **_known(first.headers))
        assert _known(headers) == _known(first.headers)


def test_the_log_tells_bodies_and_plain_requests(site: Evolving, client: Client) -> None:
    page = client.page(site.urls[0])
    [request] = site.requests()
    assert (request.conditional, request.status, request.sent) == (False, 200, len(page.body))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"If-None-Match": "{tag}"}, 304),
        ({"If-None-Match": 'W/{tag}, "other"'}, 304),
        ({"If-None-Match": "*"}, 304),
        ({"If-None-Match": '"other"'}, 200),
        ({"If-None-Match": '"other"', "If-Modified-Since": "{date}"}, 200),
        ({"If-None-Match": "{tag}", "If-Modified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}, 304),
        ({"If-Modified-Since": "{date}"}, 304),
        ({"If-Modified-Since": "Wed, 01 Jan 2098 00:00:00 GMT"}, 304),
        ({"If-Modified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}, 200),
        ({"If-Modified-Since": "yesterday"}, 200),
        ({}, 200),
    ],
)
def test_conditions_are_weighed_as_the_protocol_says(client: Client, headers: dict[str, str], status: int) -> None:
    with Evolving(1, 1, validators=[Validator.BOTH]) as site:
        known = client.page(site.urls[0]).headers
        asked = {name: value.format(tag=known["ETag"], date=known["Last-Modified"]) for name, value in headers.items()}
        assert client.get(site.urls[0], **asked)[0] == status


def test_versions_within_one_second_have_different_dates(client: Client) -> None:
    with Evolving(1, 1, validators=[Validator.DATE], clock=lambda: NOW) as site:
        dates = []
        for _ in range(4):
            dates.append(client.page(site.urls[0]).headers["Last-Modified"])
            site.change(site.urls)
        assert len(set(dates)) == 4


@pytest.mark.parametrize("status", [404, 410])
def test_what_was_removed_is_gone_and_no_longer_listed(site: Evolving, client: Client, status: int) -> None:
    removed = site.remove(5, status=status)
    assert [client.get(url)[0] for url in removed] == [status] * 5
    assert not set(removed) & _crawl(client, site).keys()
    assert len(site.urls) == 115


def test_what_was_added_is_listed(site: Evolving, client: Client) -> None:
    before = _crawl(client, site)
    added = site.add(40)
    after = _crawl(client, site)
    assert set(added) == after.keys() - before.keys() - set(site.indices)
    assert len(added) == 40


def test_an_index_changes_with_what_it_lists_and_its_text_does_not(site: Evolving, client: Client) -> None:
    before = {url: client.page(url) for url in site.indices}
    site.change(30)
    assert {client.get(url, **_known(page.headers))[0] for url, page in before.items()} == {304}
    site.remove(site.urls[:1])
    after = {url: client.get(url, **_known(page.headers)) for url, page in before.items()}
    assert [path for path in after if after[path][0] == 200] == [site.url("/shelves/1/")]
    assert Page("http://a.test/", *after[site.url("/shelves/1/")]).text == before[site.url("/shelves/1/")].text


def test_pages_are_chosen_once_until_all_have_been() -> None:
    site = Evolving(1, 20)
    added = site.add(5)
    chosen = site.change(10) + site.remove(5) + site.flicker(5)
    assert len(set(chosen)) == 20
    assert not set(added) & set(chosen)
    assert len(site.change(5)) == 5


def test_a_page_that_flickers_is_back_as_it_was(site: Evolving, client: Client) -> None:
    before = _crawl(client, site)
    [once] = site.flicker(1)
    assert [client.get(once)[0] for _ in range(3)] == [404, 200, 200]
    assert client.page(once).body == before[once].body
    [twice] = site.flicker(1, times=2)
    assert [client.get(twice)[0] for _ in range(3)] == [404, 404, 200]
    assert twice in site.urls


def test_noise_changes_bytes_and_strong_tags_and_not_the_text(client: Client) -> None:
    with Evolving(1, 12, noise=True) as site:
        pairs = [(client.page(url), client.page(url)) for url in site.urls]
        assert all(one.body != other.body and one.text == other.text for one, other in pairs)
        again = {_kind(one.headers): client.get(one.url, **_known(one.headers))[0] for one, _ in pairs}
        assert again == {Validator.STRONG: 200, Validator.BOTH: 200, Validator.WEAK: 304, Validator.DATE: 304}


def test_the_sitemap_lists_what_is_there_with_its_time(client: Client) -> None:
    with Evolving(1, 30, sitemap=True, clock=lambda: NOW) as site:
        old = _listed(client, site)
        assert old.keys() == {*site.urls, *site.indices}
        [changed], [removed], [added] = site.change(1), site.remove(1), site.add(1)
        new = _listed(client, site)
        assert (new.keys() - old.keys(), old.keys() - new.keys()) == ({added}, {removed})
        later = {url for url, time in new.items() if time.startswith("2027-01-15")}
        assert later == {changed, added, site.url("/shelves/1/")}
        assert {url for url in old if new.get(url) == old[url]} == old.keys() - later - {removed}


def _listed(client: Client, site: Evolving) -> dict[str, str]:
    text = client.get(site.url("/sitemap.xml"))[2].decode()
    return dict(re.findall(r"<loc>(.+?)</loc><lastmod>(.+?)</lastmod>", text))


def test_there_is_no_sitemap_unless_asked_for(site: Evolving, client: Client) -> None:
    assert client.get(site.url("/sitemap.xml"))[0] == 404
