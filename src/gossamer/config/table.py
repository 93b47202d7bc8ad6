"""The one table of settings. Flags, variables, TOML keys, `gossamer config` and the reference all come from it.

Values and defaults live in `Settings`, whose fields have the same names.
"""

from __future__ import annotations

import msgspec

from gossamer.config import kinds
from gossamer.config.hours import HOURS
from gossamer.config.kinds import Kind, choice, choice_of, duration, optional, size, whole
from gossamer.model import Order, ScopeMode

GROUPS = (
    "Scope",
    "Finding pages",
    "Limits",
    "Politeness",
    "Requests",
    "Pages that are one",
    "Traps",
    "Coming back",
    "Storage and output",
    "Robots and failing hosts",
    "Machinery",
)
_SCOPE, _FINDING, _LIMITS, _POLITE, _REQUESTS, _FOLDING, _TRAPS, _RETURN, _STORAGE, _HOSTS, _MACHINERY = GROUPS


class Setting(msgspec.Struct, frozen=True):
    name: str
    group: str
    kind: Kind
    help: str
    flag: str | None = None
    """Where it is not the name with dashes."""
    default: str | None = None
    """In words, where the value is long or depends on the machine or the version."""


_ROWS = [
    Setting("data", _STORAGE, kinds.DIRECTORY, "Directory that holds the store. One process at a time works in it."),
    Setting("out", _STORAGE, optional(kinds.FILE), "Also write every final page as a line of this JSONL file."),
    Setting(
        "durability",
        _STORAGE,
        choice("normal", "full"),
        "`normal`: a crash of the process loses nothing. `full`: nor does a power cut, at the cost of speed.",
    ),
    Setting(
        "content",
        _STORAGE,
        kinds.SWITCH,
        "Whether the text of pages is kept as Markdown, or only links, title and other facts.",
    ),
    Setting(
        "scope",
        _SCOPE,
        choice_of(ScopeMode, "prefix", "host", "site", "any"),
        "How far links are followed: below the seed's path, on its host, on its registrable domain, or anywhere.",
    ),
    Setting("include", _SCOPE, kinds.PATTERNS, "Only URLs that match one of these RE2 patterns. Repeatable."),
    Setting("exclude", _SCOPE, kinds.PATTERNS, "No URL that matches one of these RE2 patterns. Repeatable."),
    Setting(
        "skip_types",
        _SCOPE,
        kinds.EXTENSIONS,
        "File extensions that are not fetched; `none` fetches all.",
        default="images, video, audio, fonts, archives and programs",
    ),
    Setting("max_url_length", _SCOPE, whole(64, 32_768), "Longer URLs are skipped."),
    Setting(
        "drop_parameters",
        _SCOPE,
        kinds.WORDS,
        "Query parameters that do not make another page; `none` keeps all.",
        default="well-known tracking parameters",
    ),
    Setting(
        "seed_from",
        _FINDING,
        kinds.SEED_FROM,
        "Where URLs come from besides the seeds: `sitemap`, `links`, `llms` (llms.txt), `ct` (certificates), "
        "`commoncrawl`, or `all` of these. `auto`: sitemaps where they list anything in scope, else links. Repeatable.",
    ),
    Setting(
        "order",
        _FINDING,
        choice_of(Order, "breadth", "best"),
        "Nearest to the seeds first, or best first: by depth, path, sitemap priority, links seen and rate of change.",
    ),
    Setting(
        "sitemap_patience",
        _FINDING,
        duration(),
        "How long links wait for the first URL of a sitemap before they are followed all the same.",
    ),
    Setting("max_guides", _FINDING, whole(1), "Sitemaps, feeds and lists read for one source."),
    Setting("guides_at_once", _FINDING, whole(1, 64), "Sitemaps, feeds and lists fetched at once."),
    Setting("max_listed", _FINDING, whole(1), "URLs taken from certificates and from Common Crawl."),
    Setting("ct_endpoint", _FINDING, kinds.ENDPOINT, "Service that lists certificates, as crt.sh does."),
    Setting("commoncrawl_endpoint", _FINDING, kinds.ENDPOINT, "Service that serves the Common Crawl index."),
    Setting("canonical", _FOLDING, kinds.SWITCH, "Whether a page is folded into the one that its rel=canonical names."),
    Setting("duplicates", _FOLDING, kinds.SWITCH, "Whether pages with the same body become one."),
    Setting(
        "near_duplicates",
        _FOLDING,
        kinds.LIKENESS,
        "Pages become one from this share of common text on (0.5 to 1), or never: `off`.",
    ),
    Setting(
        "learn_parameters",
        _FOLDING,
        kinds.SWITCH,
        "Whether gossamer learns from each host which query parameters, and what order of them, change nothing.",
    ),
    Setting("host_budget", _TRAPS, whole(1), "Pages of one host, at most."),
    Setting(
        "path_budget",
        _TRAPS,
        whole(1),
        "Pages of one numbered path, as in /calendar/#/#; more while they bring something new.",
    ),
    Setting("query_budget", _TRAPS, whole(1), "The same for one path with one set of query parameters."),
    Setting(
        "thin_budget",
        _TRAPS,
        whole(1),
        "The most for a pattern whose pages say hardly anything, if it does not lead deeper and deeper.",
    ),
    Setting(
        "max_repeats", _TRAPS, whole(2), "A path that repeats a segment, or a run of them, this many times is a trap."
    ),
    Setting("max_segments", _TRAPS, whole(1), "Segments of a path, at most."),
    Setting("max_parameters", _TRAPS, whole(1), "Query parameters of a URL, at most."),
    Setting("max_future", _TRAPS, duration(), "How far ahead a date in a URL may lie."),
    Setting(
        "soft_404", _TRAPS, kinds.SWITCH, "Whether gossamer learns how each host says `not found` with a status of 200."
    ),
    Setting("revisit_first", _RETURN, duration(1.0), "When to come back to a page before its rate of change is known."),
    Setting("revisit_least", _RETURN, duration(1.0), "Come back to no page sooner than this."),
    Setting("revisit_most", _RETURN, duration(1.0), "Come back to every page at least this often."),
    Setting(
        "gone_after", _RETURN, whole(1, 100), "How often in a row a page must be 404 or 410 before it counts as gone."
    ),
    Setting("max_pages", _LIMITS, optional(whole(1)), "Fetch this many pages and stop. robots.txt is not counted."),
    Setting(
        "max_depth", _LIMITS, optional(whole(0)), "Links from the seed to a page, at most; 0 fetches the seeds alone."
    ),
    Setting("duration", _LIMITS, optional(duration(0.001)), "Stop cleanly after this time."),
    Setting(
        "delay",
        _POLITE,
        kinds.DELAY,
        "Pause between two requests to one host, or `auto`: by its response time. A longer Crawl-delay wins.",
    ),
    Setting("max_delay", _POLITE, duration(), "The most that a Crawl-delay can ask for, and the longest `auto` delay."),
    Setting(
        "per_host",
        _POLITE,
        whole(1, 256),
        "Requests at once to one host when the delay is 0 or `auto`; with a delay it is 1.",
    ),
    Setting("concurrency", _POLITE, whole(1, 4096), "Requests at once over all hosts."),
    Setting(
        "per_address", _POLITE, whole(1, 4096), "Requests at once to one IP address, over all hosts that live there."
    ),
    Setting(
        "hours",
        _POLITE,
        optional(HOURS),
        "Crawl only between these times of day, as in `22:00-06:00 Europe/Berlin`; UTC where no time zone is named.",
    ),
    Setting("ignore_robots", _POLITE, kinds.SWITCH, "Do not ask robots.txt. For hosts of your own."),
    Setting(
        "user_agent",
        _REQUESTS,
        kinds.AGENT,
        "How gossamer introduces itself; robots.txt knows it by the name before the version.",
        default="gossamer/VERSION (+https://github.com/gossamer-crawler/gossamer)",
    ),
    Setting(
        "headers",
        _REQUESTS,
        kinds.HEADERS,
        "Extra request header, sent to the hosts of the seeds only. Repeatable.",
        flag="header",
    ),
    Setting(
        "auth",
        _REQUESTS,
        optional(kinds.CREDENTIALS),
        "Basic authentication, for the hosts of the seeds only. Rather by GOSSAMER_AUTH: others can see flags.",
    ),
    Setting("proxy", _REQUESTS, optional(kinds.PROXY), "Send all requests through this proxy."),
    Setting("cookies", _REQUESTS, kinds.SWITCH, "Keep cookies and send them back."),
    Setting(
        "allow_private",
        _REQUESTS,
        kinds.NETWORKS,
        "A private or loopback network that may be fetched from; a seed allows its own address. Repeatable.",
    ),
    Setting("max_body", _REQUESTS, size(1024), "Largest body, after decoding."),
    Setting("max_headers", _REQUESTS, size(1024), "Largest response header block."),
    Setting("connect_timeout", _REQUESTS, duration(0.001), "For name, connection and TLS."),
    Setting("first_byte_timeout", _REQUESTS, duration(0.001), "From the request to the first byte of the answer."),
    Setting("total_timeout", _REQUESTS, duration(0.001), "For the whole of a request."),
    Setting(
        "min_rate", _REQUESTS, size(0), "A server that sends less than this in a second, over 10 seconds, is let go."
    ),
    Setting("max_attempts", _REQUESTS, whole(1, 100), "How often one page is tried when its errors could pass."),
    Setting("robots_ttl", _HOSTS, duration(60.0), "How long a robots.txt is good for."),
    Setting("robots_at_once", _HOSTS, whole(1), "robots.txt fetches at once."),
    Setting(
        "backoff_first",
        _HOSTS,
        duration(0.001),
        "Pause of a host after its first failure; it doubles with each further one.",
    ),
    Setting("backoff_max", _HOSTS, duration(0.001), "The longest such pause."),
    Setting("block_after", _HOSTS, whole(1), "Failures in a row after which a host is blocked and its pages fail."),
    Setting("unreachable_after", _HOSTS, whole(1), "The same, for a host that never answered at all."),
    Setting("block_time", _HOSTS, duration(), "How long a host stays blocked."),
    Setting("throttled_attempts", _HOSTS, whole(1), "How often one page is tried when its host says 429 or 503."),
    Setting(
        "processes",
        _MACHINERY,
        whole(0, 256),
        "Child processes that fetch and parse; 0 does it all in one process.",
        default="the number of cores",
    ),
    Setting("parse_timeout", _MACHINERY, duration(0.1), "A page that takes longer to parse fails."),
    Setting("worker_memory", _MACHINERY, size(128 * 1024**2), "A child process that grows beyond this is replaced."),
    Setting("host_queue", _MACHINERY, whole(1), "URLs of one host in memory; the rest waits in the store."),
    Setting("queue_memory", _MACHINERY, whole(1), "URLs in memory over all hosts."),
    Setting("hosts_in_memory", _MACHINERY, whole(1), "Hosts in memory; idle ones beyond that wait in the store."),
    Setting(
        "commit_target",
        _MACHINERY,
        duration(0.001),
        "When commits take longer than this, fetching slows down until they do not.",
    ),
    Setting("stop_grace", _MACHINERY, duration(), "How long a clean stop waits for what is in flight."),
]

SETTINGS = {row.name: row for row in sorted(_ROWS, key=lambda row: GROUPS.index(row.group))}
