from __future__ import annotations

from urllib.error import HTTPError
from urllib.request import urlopen

import msgspec
import pytest

from gossamer.testing.services import Capture, Services

PAGES = [Capture(f"https://www.example.com/{number}", timestamp=f"2026010{number}000000") for number in range(1, 6)]


def get(services: Services, target: str) -> bytes:
    with urlopen(services.endpoint + target, timeout=30) as answer:
        body: bytes = answer.read()
        return body


def refused(services: Services, target: str) -> tuple[int, bytes]:
    with pytest.raises(HTTPError) as caught:
        get(services, target)
    with caught.value as answer:
        return answer.code, answer.read()


def lines(body: bytes) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in body.splitlines()]


def test_certificates_are_listed_as_crt_sh_does() -> None:
    with Services(certificates=[("www.example.com", "example.com"), ("other.test",)]) as services:
        below = msgspec.json.decode(get(services, "?q=%25.example.com&output=json"))
        exact = msgspec.json.decode(get(services, "?q=example.com&output=json"))
        nothing = get(services, "?q=%25.example.net&output=json")
    assert [(one["common_name"], one["name_value"]) for one in below] == [("www.example.com", "www.example.com")]
    assert [(one["common_name"], one["name_value"]) for one in exact] == [("www.example.com", "example.com")]
    assert set(below[0]) == {
        "issuer_ca_id", "issuer_name", "common_name", "name_value", "id", "entry_timestamp", "not_before", "not_after",
        "serial_number", "result_count",
    }  # fmt: skip
    assert nothing == b"[]"


def test_collections_are_listed_newest_first() -> None:
    with Services(collections=["new", "old"]) as services:
        found = msgspec.json.decode(get(services, "collinfo.json"))
        endpoint = services.endpoint
    assert [one["id"] for one in found] == ["new", "old"]
    assert found[0]["cdx-api"] == f"{endpoint}new-index"


def test_captures_come_in_pages_of_lines() -> None:
    asked = "CC-MAIN-2026-05-index?url=www.example.com/*&output=json"
    with Services(captures=PAGES, per_page=2) as services:
        assert lines(get(services, f"{asked}&showNumPages=true")) == [{"pages": 3, "pageSize": 5, "blocks": 3}]
        pages = [lines(get(services, f"{asked}&fl=url,status&page={page}")) for page in range(3)]
        assert refused(services, f"{asked}&page=3")[0] == 400
        assert services.requests[0] == f"/{asked}&showNumPages=true"
    assert [len(page) for page in pages] == [2, 2, 1]
    assert pages[0][0] == {"url": "https://www.example.com/1", "status": "200"}


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("*.example.com", 5), ("www.example.com/1*", 1), ("www.example.com/2", 1), ("*.ample.com", 0)],
)
def test_a_pattern_is_a_domain_a_prefix_or_a_page(pattern: str, found: int) -> None:
    asked = f"CC-MAIN-2026-05-index?url={pattern}&output=json"
    with Services(captures=PAGES, per_page=100) as services:
        if found:
            assert len(lines(get(services, asked))) == found
        else:
            assert refused(services, asked) == (404, b'{"message":"No Captures found for: *.ample.com"}')


def test_older_collections_have_nothing_and_other_places_do_not_exist() -> None:
    with Services(captures=PAGES) as services:
        assert refused(services, "CC-MAIN-2025-51-index?url=*.example.com") == (
            404,
            b'{"message":"No Captures found for: *.example.com"}',
        )
        assert refused(services, "elsewhere") == (404, b"Not Found\n")
