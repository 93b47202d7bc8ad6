"""The other side of the race: Scrapy, tuned for speed. Runs in an environment of its own.

Three styles. `idiomatic` is Scrapy as its users write it, with every setting that makes it quicker. `tuned` also keeps
the seen URLs in a set of the spider. `stripped` takes Scrapy's own machinery away too: no duplicate filter and no
middleware. None keeps a durable frontier (JOBDIR is off), asks for robots or checks addresses; gossamer does all three.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import urldefrag, urljoin

import scrapy
from lxml import html
from scrapy.crawler import CrawlerProcess

Item: TypeAlias = dict[str, object]

TUNED: dict[str, object] = {
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "LOGSTATS_INTERVAL": 0,
    "MEMUSAGE_ENABLED": False,
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
}

_DOWNLOADER = "scrapy.downloadermiddlewares."
_SPIDER = "scrapy.spidermiddlewares."

STRIPPED: dict[str, object] = {
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "DOWNLOADER_MIDDLEWARES": dict.fromkeys(
        [
            _DOWNLOADER + "offsite.OffsiteMiddleware",
            _DOWNLOADER + "httpauth.HttpAuthMiddleware",
            _DOWNLOADER + "downloadtimeout.DownloadTimeoutMiddleware",
            _DOWNLOADER + "defaultheaders.DefaultHeadersMiddleware",
            _DOWNLOADER + "useragent.UserAgentMiddleware",
            _DOWNLOADER + "redirect.MetaRefreshMiddleware",
            _DOWNLOADER + "httpcompression.HttpCompressionMiddleware",
            _DOWNLOADER + "redirect.RedirectMiddleware",
            _DOWNLOADER + "httpproxy.HttpProxyMiddleware",
            _DOWNLOADER + "stats.DownloaderStats",
        ]
    ),
    "SPIDER_MIDDLEWARES": dict.fromkeys(
        [
            _SPIDER + "start.StartSpiderMiddleware",
            _SPIDER + "httperror.HttpErrorMiddleware",
            _SPIDER + "referer.RefererMiddleware",
            _SPIDER + "urllength.UrlLengthMiddleware",
            _SPIDER + "depth.DepthMiddleware",
        ]
    ),
}


def read(url: str, body: bytes) -> tuple[str | None, list[str]]:
    """Title and links of a page: lxml itself, which is quicker than Scrapy's LinkExtractor."""
    tree = html.fromstring(body)
    links = (urldefrag(urljoin(url, href)).url for href in tree.xpath("//a/@href"))
    return tree.findtext(".//title"), [link for link in dict.fromkeys(links) if link.startswith("http")]


class Idiomatic(scrapy.Spider):
    """A request for every link, and Scrapy's own filter drops what it has seen."""

    name = "idiomatic"

    def parse(self, response: scrapy.http.Response) -> Iterator[Item | scrapy.Request]:
        title, links = read(response.url, response.body)
        yield {"url": response.url, "title": title, "links": links}
        for link in self.wanted(links):
            yield scrapy.Request(link)

    def wanted(self, links: list[str]) -> list[str]:
        first = self.start_urls[0]
        # Scrapy does not filter its start URL, and would ask for it twice.
        return [link for link in links if link.startswith(first) and link != first]


class Tuned(Idiomatic):
    """A request only for links that were not seen: making one costs more than looking into a set."""

    name = "tuned"

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.seen = set(self.start_urls)

    def wanted(self, links: list[str]) -> list[str]:
        new = [link for link in super().wanted(links) if link not in self.seen]
        self.seen.update(new)
        return new


STYLES: dict[str, tuple[type[Idiomatic], dict[str, object]]] = {
    "idiomatic": (Idiomatic, TUNED),
    "tuned": (Tuned, TUNED),
    "stripped": (Tuned, TUNED | STRIPPED),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--out", required=True)
    parser.add_argument("--style", choices=sorted(STYLES), default="tuned")
    parser.add_argument("--loop", choices=["asyncio", "uvloop"], default="uvloop")
    options = parser.parse_args()
    spider, settings = STYLES[options.style]
    settings = settings | {"FEEDS": {options.out: {"format": "jsonlines"}}}
    if options.loop == "uvloop":
        settings["ASYNCIO_EVENT_LOOP"] = "uvloop.Loop"
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(spider)
    process.crawl(crawler, start_urls=[options.url])
    process.start()
    print(json.dumps({"seconds": crawler.stats.get_value("elapsed_time_seconds")}))


if __name__ == "__main__":
    main()
