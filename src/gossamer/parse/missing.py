"""Whether a page says of itself that it is not there.

Only a suspicion: an article on status codes raises it too. What is suspected is compared with what the host answers
for a page that surely does not exist.
"""

from __future__ import annotations

import re

_LONGEST = 100
"""Characters of a title that says no more than that."""

_SAYINGS = (
    r"(?<![\d.,])404(?![\d.,]*\d)",
    r"not found|page (?:is )?missing|missing page|no longer (?:exists?|available|here)|(?:does not|doesn.t) exist",
    r"(?:can ?not|can.t|could not|couldn.t) (?:be found|find)",
    r"nicht gefunden|nicht (?:mehr )?vorhanden|existiert nicht|nicht finden",
    r"introuvable|non trouvée?|pas (?:été )?trouvée?|n.existe (?:pas|plus)",
    r"no (?:fue |ha sido )?encontrad[ao]|no se (?:ha )?enc(?:ontr|uentr)|no (?:pudimos )?encontr|(?<!\w)no existe",
    r"non (?:è stat[ao] )?trovat[ao]|non esiste",
    r"não (?:foi )?encontr(?:ad[ao]|ámos|amos)|não existe",
    r"niet (?:worden )?gevonden|bestaat niet",
    r"не найден|не существует|не удалось найти",
    r"見つかりません|存在しません|見つからない",
    r"找不到|未找到|没有找到|沒有找到|不存在|无法找到|無法找到",
)
_MISSING = re.compile("|".join(_SAYINGS), re.IGNORECASE)
_STEMS = (
    *("404", "found", "missing", "longer", "exist", "find", "gefunden", "vorhanden", "introuvable", "trouv", "encontr"),
    *("encuentr", "trovat", "esiste", "gevonden", "bestaat", "найден", "существует", "найти", "見つか", "存在", "找"),
)
"""One of these is in every saying: most titles need not be looked at any closer."""


def says_missing(title: str | None) -> bool:
    """Of a title or a heading on one line."""
    if title is None or len(title) >= _LONGEST:
        return False
    lower = title.lower()
    return any(stem in lower for stem in _STEMS) and _MISSING.search(title) is not None
