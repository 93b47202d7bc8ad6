"""A documentation site that is the same on every machine: navigation, prose, code blocks and tables.

Pages weigh about 36 KB and carry 60 to 120 links. Sections hold chapters, chapters hold pages, and each page is
linked from its chapter, so that the whole site can be reached from its first page.
"""

from __future__ import annotations

import argparse
import html
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEED = 20_240_229
PER_CHAPTER = 10
PER_SECTION = 10 * PER_CHAPTER


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WORDS = _words("""
    adapter answer batch buffer cache channel client clock cluster column commit config context cursor default
    delay deploy driver engine entry error event example field file filter format frame function handle header
    host index input install journal kernel key label latency layer lease library limit link list local lock log
    memory message method module name network node note object option order output package page parser path plan
    policy pool port process protocol query queue range record region release request resource response result
    retry route schema scope server session shard signal socket source stage state storage stream string table
    target task thread timeout token trace transaction type update value vector version volume window worker zone
""")
GLUE = _words("the a of and to in that is for with on as by when from which or before after every no each this")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A page before it is written: where it stands and what it is called."""

    number: int
    path: str
    title: str

    @property
    def chapter(self) -> int:
        return self.number // PER_CHAPTER

    @property
    def section(self) -> int:
        return self.number // PER_SECTION


def write_site(folder: Path, pages: int, seed: int = SEED) -> list[str]:
    """Write the site and a robots file that allows all of it; the paths of its pages, the first one `/docs/`."""
    entries = [_entry(number, seed) for number in range(pages)]
    for entry in entries:
        target = folder / entry.path.lstrip("/")
        if entry.path.endswith("/"):
            target /= "index.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_page(entry, entries, seed), encoding="utf-8")
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n", encoding="utf-8")
    return [entry.path for entry in entries]


def _entry(number: int, seed: int) -> Entry:
    rng = random.Random(f"{seed}/title/{number}")
    words = rng.sample(WORDS, 3)
    section, chapter = number // PER_SECTION, number // PER_CHAPTER % 10
    slug = "-".join(words)
    path = f"/docs/s{section:02}/c{chapter}/{number:05}-{slug}.html" if number else "/docs/"
    return Entry(number=number, path=path, title=" ".join(words).capitalize())


def _page(entry: Entry, entries: list[Entry], seed: int) -> str:
    rng = random.Random(f"{seed}/page/{entry.number}")
    title = html.escape(entry.title)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title} - Reference</title>\n'
        f'<meta name="description" content="{_sentence(rng)}">\n<link rel="canonical" href="{entry.path}">\n'
        '<link rel="stylesheet" href="/static/docs.css">\n<script src="/static/docs.js" defer></script>\n</head>\n'
        f"<body>\n{_header(entry)}\n{_sidebar(entry, entries)}\n<main>\n<article>\n<h1>{title}</h1>\n"
        f"{_article(entry, entries, rng)}\n</article>\n</main>\n{_footer(entry, entries)}\n</body>\n</html>\n"
    )


def _header(entry: Entry) -> str:
    return (
        '<header class="top"><a class="brand" href="/docs/">Reference</a> <a href="#content">Skip</a> '
        f'<a href="mailto:docs@example.com?subject={entry.number}">Write to us</a></header>'
    )


def _sidebar(entry: Entry, entries: list[Entry]) -> str:
    sections = entries[::PER_SECTION]
    chapters = entries[entry.section * PER_SECTION : (entry.section + 1) * PER_SECTION : PER_CHAPTER]
    siblings = entries[entry.chapter * PER_CHAPTER : (entry.chapter + 1) * PER_CHAPTER]
    lists = "\n".join(_menu(items, entry) for items in (sections, chapters, siblings))
    return f'<nav class="sidebar" aria-label="Contents">\n{lists}\n</nav>'


def _menu(items: list[Entry], here: Entry) -> str:
    lines = (
        f'<li class="menu-item menu-level-1{" menu-current" if item is here else ""}">'
        f'<a class="menu-link reference internal" href="{item.path}">{html.escape(item.title)}</a></li>'
        for item in items
    )
    return '<ul class="menu">\n' + "\n".join(lines) + "\n</ul>"


def _footer(entry: Entry, entries: list[Entry]) -> str:
    before, after = entries[entry.number - 1], entries[(entry.number + 1) % len(entries)]
    return (
        f'<footer><a rel="prev" href="{before.path}">Previous</a> <a rel="next" href="{after.path}">Next</a> '
        '<a href="/docs/">Index</a></footer>'
    )


def _article(entry: Entry, entries: list[Entry], rng: random.Random) -> str:
    references = [rng.choice(entries) for _ in range(rng.randint(16, 70))]
    return "\n".join(_parts(references, rng, blocks=rng.randint(7, 18)))


def _parts(references: list[Entry], rng: random.Random, blocks: int) -> Iterator[str]:
    for block in range(blocks):
        here = references[block::blocks]
        heading = rng.choice(WORDS).capitalize()
        yield f'<h2 id="part-{block}">{heading} <a class="anchor" href="#part-{block}">#</a></h2>'
        yield _paragraph(rng, here)
        yield rng.choice((_code, _table, _bullets))(rng)
        yield _paragraph(rng, [])


def _sentence(rng: random.Random) -> str:
    words = [rng.choice(GLUE if rng.random() < 0.45 else WORDS) for _ in range(rng.randint(8, 18))]
    return " ".join(words).capitalize() + "."


def _paragraph(rng: random.Random, references: list[Entry]) -> str:
    links = [f'See <a class="reference internal" href="{r.path}"><span>{r.title}</span></a>.' for r in references]
    sentences = [_sentence(rng) for _ in range(rng.randint(4, 8))] + links
    rng.shuffle(sentences)
    return f"<p>{' '.join(sentences)}</p>"


def _code(rng: random.Random) -> str:
    lines = "\n".join(_line_of_code(rng) for _ in range(rng.randint(5, 12)))
    return f'<div class="highlight"><pre><code class="language-python">{lines}</code></pre></div>'


def _line_of_code(rng: random.Random) -> str:
    return (
        f'<span class="n">{rng.choice(WORDS)}</span> <span class="o">=</span> <span class="nf">{rng.choice(WORDS)}'
        f'</span><span class="p">(</span><span class="s2">&quot;{rng.choice(WORDS)}&quot;</span>)'
    )


def _table(rng: random.Random) -> str:
    rows = (
        f"<tr><td><code>{rng.choice(WORDS)}</code></td><td>{rng.randint(0, 4096)}</td><td>{_sentence(rng)}</td></tr>"
        for _ in range(rng.randint(4, 9))
    )
    return (
        '<table class="docutils"><thead><tr><th>Option</th><th>Default</th><th>Meaning</th></tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table>"
    )


def _bullets(rng: random.Random) -> str:
    items = (
        f"<li><p><strong>{rng.choice(WORDS)}</strong>: {_sentence(rng)}</p></li>" for _ in range(rng.randint(4, 9))
    )
    return "<ul>\n" + "\n".join(items) + "\n</ul>"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=3_000)
    options = parser.parse_args()
    paths = write_site(options.folder, options.pages)
    size = sum(file.stat().st_size for file in options.folder.rglob("*.html"))
    print(f"{len(paths)} pages in {options.folder}, {size / len(paths) / 1024:.1f} KB on average")


if __name__ == "__main__":
    main()
