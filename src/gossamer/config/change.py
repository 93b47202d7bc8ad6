"""New wishes for a source that exists: what a person gave anew replaces what the source had, the rest stays."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

import msgspec

from gossamer.config.settings import Settings, possible
from gossamer.model import Discovery, Folding, Politeness, RequestOptions, Revisit, Scope, SourceSpec, Traps

_Part = TypeVar("_Part", Scope, Politeness, Discovery, Folding, Traps, Revisit, RequestOptions)


def output_path(settings: Settings) -> str | None:
    return str(Path(settings.out).absolute()) if settings.out else None


def changed_spec(spec: SourceSpec, settings: Settings, changed: Collection[str]) -> SourceSpec:
    wished = settings.source_spec(spec.seeds, spec.request.allow_private)
    names = set(changed)
    if "scope" in names:
        names.add("mode")
    names |= {name.removeprefix("revisit_") for name in names}
    return possible(
        msgspec.structs.replace(
            spec,
            scope=_changed(spec.scope, wished.scope, names),
            politeness=_changed(spec.politeness, wished.politeness, names),
            discovery=_changed(spec.discovery, wished.discovery, names),
            folding=_changed(spec.folding, wished.folding, names),
            traps=_changed(spec.traps, wished.traps, names),
            revisit=_changed(spec.revisit, wished.revisit, names),
            request=_changed(spec.request, wished.request, names),
            **{name: getattr(wished, name) for name in ("order", "max_pages", "max_attempts") if name in names},
            out=output_path(settings) if "out" in names else spec.out,
        )
    )


def _changed(part: _Part, wished: _Part, names: Collection[str]) -> _Part:
    return msgspec.structs.replace(
        part, **{name: getattr(wished, name) for name in part.__struct_fields__ if name in names}
    )
