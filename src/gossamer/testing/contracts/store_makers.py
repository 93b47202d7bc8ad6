"""What the suites of the store are made with: a source, pages, facts about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager

from hypothesis import HealthCheck, settings

from gossamer.model import (
    Batch,
    Document,
    Leased,
    LeaseKind,
    NewPage,
    PageRecord,
    PendingPage,
    Politeness,
    RequestOptions,
    Revisited,
    Scope,
    ScopeMode,
    Settled,
    SourceSpec,
    State,
)
from gossamer.ports import Store
from gossamer.url import host_of

HOST = "https://a.test"
START = (-1, 0)

SPEC = SourceSpec(
    seeds=(f"{HOST}/",),
    scope=Scope(mode=ScopeMode.SITE, include=("^/docs",), max_depth=3),
    politeness=Politeness(delay=None, per_host=4),
    request=RequestOptions(user_agent="contract", headers=(("accept", "text/html"),), auth=("name", "secret")),
    max_pages=100,
)

DOCUMENT = Document(
    title="Ein Titel: 題名",
    description="What it says",
    language="de",
    canonical=f"{HOST}/canonical",
    text="Heading\ntext with a \N{SNOWMAN}",
    markdown="# Heading\n\n" + "text with a \x00 and a \N{SNOWMAN}\n" * 100,
    tokens=700,
    hash="0123456789abcdef",
    charset="utf-8",
    links=(f"{HOST}/1", f"{HOST}/2"),
)

STEPS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""For properties that share one store: each example takes a source of its own."""


def new_page(
    number: int, source: int, url: str, state: State = State.PENDING, rank: int = 10, **more: object
) -> NewPage:
    fields = {"depth": 0, "shard": 0, **more}
    return NewPage(id=number, source=source, url=url, host=host_of(url), state=state, rank=rank, **fields)  # type: ignore[arg-type]


def settled(page: NewPage, state: State = State.COMPLETED, **more: object) -> Settled:
    fields = {"attempts": 1, "status": 200, "finished_at": 1_000.5, **more}
    return Settled(page=page.id, source=page.source, url=page.url, state=state, **fields)  # type: ignore[arg-type]


def leased(page: NewPage, token: int = 1, attempts: int = 1) -> Leased:
    return Leased(page=page.id, token=token, deadline=60.0, attempts=attempts)


async def new_pages(store: Store, source: int, *paths: str, rank: int = 10) -> list[NewPage]:
    """Admit and commit one pending page for each path."""
    first = await store.reserve(len(paths))
    pages = [new_page(first + n, source, HOST + path, rank=rank) for n, path in enumerate(paths)]
    await store.commit(Batch(new=pages))
    return pages


def unchanged(page: NewPage, state: State = State.COMPLETED, **more: object) -> Settled:
    """A page that was visited again and is what it was."""
    fields = {"status": 304, "finished_at": 2_000.5, **more}
    return settled(page, state, revisit=Revisited(unchanged=True), **fields)


def changed(page: NewPage, state: State = State.COMPLETED, **more: object) -> Settled:
    """A page that was visited again and is not what it was."""
    fields = {"finished_at": 2_000.5, "revisit": Revisited(content_changed=state is State.COMPLETED), **more}
    return settled(page, state, **fields)


def says(text: str, **more: object) -> Document:
    return Document(title=text.title(), text=text, markdown=text, hash=f"hash of {text}", **more)  # type: ignore[arg-type]


async def new_guide(store: Store, source: int, path: str, kind: LeaseKind = LeaseKind.SITEMAP) -> NewPage:
    guide = new_page(await store.reserve(1), source, HOST + path, kind=kind, target=HOST)
    await store.commit(Batch(new=[guide]))
    return guide


async def completed_pages(store: Store, source: int, *paths: str) -> list[NewPage]:
    """Pages that each say their path."""
    pages = await new_pages(store, source, *paths)
    facts = [settled(page, document=says(path), size=7) for page, path in zip(pages, paths, strict=True)]
    await store.commit(Batch(settled=facts))
    return pages


async def waiting(store: Store, source: int) -> dict[str, PendingPage]:
    """All that is pending and not deferred."""
    return {page.url: page for page in await store.pending(source, HOST, START, 1_000)}


async def record_of(store: Store, page: NewPage) -> PageRecord:
    (info,) = await store.find(page.url, page.source)
    return info.record


async def pending_urls(store: Store, source: int, host: str = HOST) -> list[str]:
    return [page.url for page in await store.pending(source, host, START, 1_000)]


async def delivered(store: Store, *sources: int, after: int = 0) -> list[str]:
    return [delivery.record.url for delivery in await store.deliveries(sources, after, 1_000)]


class Mortal(ABC):
    """A suite that kills what holds a store."""

    @abstractmethod
    def crashed(self, store: Store) -> AbstractAsyncContextManager[Store]:
        """What another process finds when the one that holds `store` is killed now."""
