from __future__ import annotations

import pytest

from gossamer.parse.missing import says_missing


@pytest.mark.parametrize(
    "title",
    [
        "404",
        "Error 404 - Example",
        "404: Not Found",
        "Page not found | Example",
        "PAGE NOT FOUND",
        "Page missing",
        "This page no longer exists",
        "Sorry, that page doesn't exist",
        "Sorry, that page doesn’t exist",  # noqa: RUF001
        "The page cannot be found",
        "We can't find that page",
        "Seite nicht gefunden",
        "Diese Seite existiert nicht",
        "Page introuvable",
        "Page non trouvée",
        "Cette page n'existe plus",
        "Página no encontrada",
        "La página no existe",
        "Pagina non trovata",
        "La pagina non esiste",
        "Página não encontrada",
        "Esta página não existe",
        "Pagina niet gevonden",
        "Deze pagina bestaat niet",
        "Страница не найдена",
        "Страница не существует",
        "ページが見つかりません",
        "お探しのページは存在しません",
        "页面不存在",
        "找不到页面",
        "找不到網頁",
    ],
)
def test_a_title_that_says_so_is_known_in_many_languages(title: str) -> None:
    assert says_missing(title)


@pytest.mark.parametrize(
    "title",
    [
        None,
        "",
        "Lost and found",
        "Installation",
        "Foundations of physics",
        "Model 4040 data sheet",
        "Offers from 1,404 shops",
        "Version 2.404.1",
        "Nicht nur für Anfänger",
        "Il piano esiste",
        "The existence theorem",
        "All that we learnt in ten years of running servers, and why a page that is not found was the least of it",
    ],
)
def test_other_titles_raise_no_suspicion(title: str | None) -> None:
    assert not says_missing(title)
