"""New wishes for a source that exists: what a person gave anew replaces what the source had, the rest stays."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

import msgspec

from gossamer.config.settings import Settings
from gossamer.model import Politeness, RequestOptions, Scope, SourceSpec

_Part = TypeVar("_Part", Scope, Politeness, RequestOptions)


def output_path(settings: Settings) -> str | None:
    return str(Path(settings.out).absolute()) if settings.out else None


def changed_spec(spec: SourceSpec, settings: Settings, changed: Collection[str]) -> SourceSpec:
    wished = settings.source_spec(spec.seeds, spec.request.allow_private)
    names = set(changed)
    if "scope" in names:
        names.add("mode")
    return msgspec.structs.replace(
        spec,
        scope=_changed(spec.scope, wished.scope, names),
        politeness=_changed(spec.politeness, wished.politeness, names),
        request=_changed(spec.request, wished.request, names),
        max_pages=wished.max_pages if "max_pages" in names else spec.max_pages,
        max_attempts=wished.max_attempts if "max_attempts" in names else spec.max_attempts,
        out=output_path(settings) if "out" in names else spec.out,
    )


def _changed(part: _Part, wished: _Part, names: Collection[str]) -> _Part:
    return msgspec.structs.replace(
        part, **{name: getattr(wished, name) for name in part.__struct_fields__ if name in names}
    )
