from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse import html
from gossamer.parse.text import lines, main_part, plain_text

LONG = "It says a lot. " * 20


def text(markup: str) -> str:
    return lines(main_part(html.parse(markup)))


def test_blocks_stand_on_lines_of_their_own_and_inline_elements_do_not_part_words() -> None:
    markup = "<h1>Title</h1><p>One <b>bo</b>ld\n  word,<br>then <a href=/x>a  link</a>.<ul><li>first<li><p>second</ul>"
    assert text(markup).split("\n") == ["Title", "One bold word,", "then a link.", "first", "second"]


def test_cells_and_quotations_are_blocks() -> None:
    markup = "<table><tr><th>Name<th>Size<tr><td>a<td>1</table><blockquote>Quoted<p>twice</blockquote>"
    assert text(markup).split("\n") == ["Name", "Size", "a", "1", "Quoted", "twice"]


def test_white_space_is_collapsed() -> None:
    assert (
        text("<p>  a\t\tb\u00a0\u00a0 c\r\n\r\n<pre>\n  def f():\n      return  1\n</pre>")
        == "a b c\ndef f():\nreturn 1"
    )


@pytest.mark.parametrize(
    "furniture",
    [
        "<script>x()</script>",
        "<style>p {}</style>",
        "<noscript>Turn it on</noscript>",
        "<template><p>Later</template>",
        "<nav><a href=/>Home</a></nav>",
        "<div role=navigation>Home</div>",
        "<form><label>Name <input></label></form>",
        "<header>Site</header>",
        "<div><footer>Imprint</footer></div>",
        "<div><div><aside>News</aside></div></div>",
        "<div role=banner>Site</div>",
        "<svg><title>Picture</title></svg>",
        "<button>Copy</button>",
        "<iframe>Old browser</iframe>",
        "<!-- comment -->",
    ],
)
def test_furniture_is_no_text(furniture: str) -> None:
    assert text(f"<body><p>Words{furniture}") == "Words"


def test_the_header_and_the_asides_of_an_article_belong_to_it() -> None:
    markup = "<article><header><h1>Title</h1></header><p>Words<aside>Mind the gap</aside></article>"
    assert text(markup) == "Title\nWords\nMind the gap"
    assert text(f"<div>{markup}{markup}</div>").count("Title") == 2


def test_a_form_around_the_whole_page_is_not_furniture() -> None:
    assert text("<form><input><h1>Title</h1><p>Words</form>") == "Title\nWords"


@pytest.mark.parametrize("main", ["<main>{}</main>", "<article>{}</article>", "<div role=main>{}</div>"])
def test_the_marked_part_of_a_page_is_its_main_text(main: str) -> None:
    assert text(f"<div>Advertisement</div>{main.format(LONG)}<div>More</div>") == LONG.strip()


def test_a_short_main_part_is_believed_when_little_else_is_there() -> None:
    assert text("<main>Gone fishing.</main><div>Copyright</div>") == "Gone fishing."


@pytest.mark.parametrize("main", ["", "Loading"])
def test_a_main_part_that_says_next_to_nothing_is_not_believed(main: str) -> None:
    assert LONG.strip() in text(f"<main>{main}</main><div>{LONG}</div>")


def test_many_words_are_believed_however_much_stands_around_them() -> None:
    assert text(f"<main>{LONG}</main><div>{LONG * 50}</div>") == LONG.strip()


def test_of_several_articles_none_is_the_main_part() -> None:
    assert text(f"<article>{LONG}</article><article>Second</article>") == f"{LONG.strip()}\nSecond"


@pytest.mark.parametrize(
    "markup", ["", "<title>Only</title>", "<frameset><frame src=/a></frameset>", "<nav>Home</nav>"]
)
def test_a_page_without_words_has_no_text(markup: str) -> None:
    assert text(markup) == ""


@pytest.mark.parametrize(
    ("markup", "most"),
    [
        ("<div>" * 1_000_000, 0),
        ("<b>x" * 200_000, 200_000),
        ("<blockquote>x" * 100_000, 200_000),
        ("<ul><li>x" * 100_000, 200_000),
        ("<table><tr><td>x" * 50_000, 100_000),
        ("<table><tr><td>" + "x" * 100_000 + "<td>y" + "<tr><td>x<td>y" * 10_000, 200_000),
        ("<article>x" * 100_000, 200_000),
        ("<header>x" * 100_000, 0),
        ("<form><div>x" * 100_000, 0),
        ("\0" * 1_000_000, 1_000_000),
        (" " * 1_000_000 + "x" + "\n" * 1_000_000, 1),
    ],
    ids=["nested", "bold", "quotes", "lists", "tables", "wide cell", "articles", "headers", "forms", "nuls", "spaces"],
)
def test_a_hostile_page_has_no_more_text_than_it_brought(markup: str, most: int) -> None:
    assert len(text(markup)) <= most


TAGS = st.sampled_from(
    [
        "<main>",
        "</main>",
        "<article>",
        "<p>",
        "<td>",
        "<table>",
        "<form>",
        "<h1>",
        "<header>",
        "<nav>",
        "<pre>",
        "&nbsp;",
    ]
)


@given(st.lists(TAGS | st.text(max_size=8), max_size=40).map("".join))
def test_whatever_the_markup_lines_are_clean(markup: str) -> None:
    lines = text(markup).split("\n")
    assert all(line == line.strip() and "  " not in line for line in lines)
    assert all(lines) or lines == [""]


def test_plain_text_is_taken_as_it_is_unless_it_is_none() -> None:
    assert plain_text("\n# Title\n\n    code\n") == "# Title\n\n    code"
    assert plain_text("\x7fELF\0\0\0") == ""
