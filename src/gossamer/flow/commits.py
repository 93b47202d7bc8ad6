"""Word of commits, for all who project what is committed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager


class Commits:
    def __init__(self) -> None:
        self._listeners: set[asyncio.Event] = set()
        self._over = False

    def tell(self) -> None:
        """There was a commit."""
        for listener in self._listeners:
            listener.set()

    def end(self) -> None:
        """There will be no more."""
        self._over = True
        self.tell()

    @contextmanager
    def listen(self) -> Iterator[Callable[[], Awaitable[bool]]]:
        """A call that waits for the next commit since the last call, and is False once there will be none."""
        heard = asyncio.Event()
        self._listeners.add(heard)

        async def news() -> bool:
            if not self._over:
                await heard.wait()
                heard.clear()
            return not self._over

        try:
            yield news
        finally:
            self._listeners.discard(heard)
