"""Numbers, times and reasons in words."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence

from gossamer.model import (
    MAX_RANK,
    Change,
    ChangeCounts,
    Deferral,
    EndReason,
    GuideInfo,
    HostStatus,
    LeaseKind,
    SourceState,
    State,
    Why,
)

SKIPPED = {
    Why.ROBOTS: "robots.txt of the host does not allow it",
    Why.SCOPE: "it lies outside the scope",
    Why.INCLUDE: "no include pattern matches it",
    Why.EXCLUDE: "an exclude pattern matches it",
    Why.DEPTH: "it is deeper than the limit",
    Why.TYPE: "files of its type are not fetched",
    Why.NOFOLLOW: "every link to it says nofollow",
    Why.NOINDEX: "the page asks not to be indexed",
    Why.REDIRECT: "it redirects to another page",
    Why.ADDRESS: "its address may not be fetched from",
    Why.LENGTH: "its URL is too long",
    Why.CANONICAL: "it names another page as its canonical one",
    Why.DUPLICATE: "another page has the same content",
    Why.NEAR_DUPLICATE: "another page has nearly the same content",
    Why.SOFT_404: "it looks like `not found`, whatever its status says",
    Why.TRAP: "its URL looks like a trap",
    Why.UNLISTED: "only links lead to it, and the sitemap is the crawl; --seed-from sitemap,links follows both",
}

FOLDS = {
    Why.CANONICAL: "canonical link",
    Why.DUPLICATE: "same content",
    Why.NEAR_DUPLICATE: "near duplicate",
}

WAITS = {
    Deferral.DEPTH: "it is deeper than the limit by every way found so far; a shorter one may turn up",
    Deferral.NOFOLLOW: "every link to it so far says nofollow; another may turn up",
    Deferral.UNLISTED: "only links lead to it so far, and the sitemaps of its host are still being read",
    Deferral.BUDGET: "pages like it have used up their budget; it gets more if they bring something new",
    Deferral.CANONICAL: "it was fetched, and waits for the page that it names as its canonical one",
    Deferral.MISSING: "it was fetched and looks like `not found`; how its host says so is being learnt",
}

GUIDES = {
    LeaseKind.SITEMAP: "sitemaps",
    LeaseKind.LLMS: "llms.txt",
    LeaseKind.CT: "certificates",
    LeaseKind.COMMONCRAWL: "Common Crawl",
}

CHANGE_STYLES = {Change.ADDED: "green", Change.CHANGED: "yellow", Change.REMOVED: "red"}

ENDED = {
    EndReason.FINISHED: "Finished",
    EndReason.MAX_PAGES: "Reached the limit of pages",
    EndReason.DURATION: "Reached the limit of time",
    EndReason.INTERRUPTED: "Interrupted",
    EndReason.FAILED: "Failed",
}

STATE_STYLES = {
    State.COMPLETED: "green",
    State.FAILED: "red",
    State.SKIPPED: "yellow",
    State.PROCESSING: "cyan",
    State.PENDING: "bright_black",
}

SOURCE_STYLES = {
    SourceState.RUNNING: "cyan",
    SourceState.PAUSED: "yellow",
    SourceState.COMPLETED: "green",
    SourceState.STOPPED: "yellow",
    SourceState.FAILED: "red",
}


def number(count: int) -> str:
    return f"{count:,}"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 99.95 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def span(seconds: float) -> str:
    """A time as short as it can be told: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def clock(seconds: float) -> str:
    hours, rest = divmod(int(seconds), 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def rate(pages: float) -> str:
    return f"{pages:,.1f}" if pages < 100 else f"{pages:,.0f}"


def skipped(reason: str | None) -> str:
    try:
        return SKIPPED[Why(reason or "")]
    except ValueError:
        return reason or "no reason was kept"


def deferred(rank: int) -> str:
    """What a deferred page waits for."""
    try:
        return WAITS[Deferral(rank - MAX_RANK)]
    except ValueError:
        return "it waits for something to turn up"


def told_changes(changes: ChangeCounts) -> str:
    return f"{number(changes.added)} added, {number(changes.changed)} changed, {number(changes.removed)} removed"


def told_guides(guides: Sequence[GuideInfo]) -> Iterator[str]:
    """What guides came to, piece by piece."""
    states = Counter(guide.state for guide in guides)
    waiting = states[State.PENDING] + states[State.PROCESSING]
    yield f"{number(states[State.COMPLETED])} read"
    yield f"{plural(sum(guide.listed for guide in guides), 'URL')} listed"
    if waiting:
        yield f"{number(waiting)} waiting"
    if states[State.SKIPPED]:
        yield f"{number(states[State.SKIPPED])} skipped"
    failed = [guide for guide in guides if guide.state is State.FAILED]
    if failed:
        yield f"{number(len(failed))} failed: {failed[0].url} {failed[0].error or ''}".rstrip()


def moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def host_activity(host: HostStatus) -> str:
    """What a host is doing now, or what it waits for."""
    if host.waiting_for == "blocked":
        return f"blocked: {host.last_error}" if host.last_error else "blocked"
    if host.in_flight:
        pace = f", {host.load:.1f} at a time" if host.load is not None else ""
        return "asking robots.txt" if host.waiting_for == "robots" else f"fetching{pace}"
    if host.waiting_for is None:
        return "ready"
    failures = f" after {plural(host.failures, 'failure')}" if host.failures else ""
    return f"{host.waiting_for}{failures}" + (f", next in {span(host.wait)}" if host.wait > 0 else "")
