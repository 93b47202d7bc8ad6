-- Discovery and return: guides beside pages, pages that are folded into others, and sources that are visited again.
-- Kinds are small integers: 0 page, 1 sitemap, 2 llms, 3 ct, 4 commoncrawl, 5 probe. All but 0 are in no outbox and no
-- tally.

ALTER TABLE sources ADD COLUMN round INTEGER NOT NULL DEFAULT 1;

ALTER TABLE sources ADD COLUMN round_began_at REAL NOT NULL DEFAULT 0;

UPDATE sources SET round_began_at = created_at;

ALTER TABLE hosts ADD COLUMN address TEXT;

-- These two are JSON.
ALTER TABLE hosts ADD COLUMN pace TEXT;

ALTER TABLE hosts ADD COLUMN learnt TEXT;

-- A URL may be a page and a guide at once, so the table is made anew for the sake of its constraint.
-- `was` is the final state that a page had before this round: while it is visited again, all that the last round knew of
-- it stays in its row. `target` is where a fold or a redirect led to, or the host that a guide is about. `reopened_for`
-- is the newest of the facts that a fold has been opened again for.
CREATE TABLE new_pages (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES sources (id),
    kind INTEGER NOT NULL DEFAULT 0,
    host INTEGER NOT NULL REFERENCES hosts (id),
    shard INTEGER NOT NULL,
    state INTEGER NOT NULL,
    was INTEGER,
    depth INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    parent INTEGER REFERENCES pages (id) DEFERRABLE INITIALLY DEFERRED,
    position INTEGER NOT NULL,
    hops INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    url TEXT NOT NULL,
    created_at REAL NOT NULL,
    lastmod REAL,
    token INTEGER,
    deadline REAL,
    reason TEXT,
    error TEXT,
    target TEXT,
    status INTEGER,
    content_type TEXT,
    etag TEXT,
    last_modified TEXT,
    size INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    elapsed REAL NOT NULL DEFAULT 0,
    finished_at REAL,
    hash TEXT,
    since REAL,
    read_at REAL,
    checked_at REAL,
    changed_at REAL,
    due_at REAL,
    reopened_for REAL,
    visits INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0,
    misses INTEGER NOT NULL DEFAULT 0,
    listed INTEGER NOT NULL DEFAULT 0,
    UNIQUE (source, url, kind)
) STRICT;

-- What was fetched before anybody thought of coming back is due at once.
INSERT INTO new_pages (
    id, source, host, shard, state, depth, rank, parent, position, hops, attempts, url, created_at, token, deadline,
    reason, error, target, status, content_type, etag, last_modified, size, tokens, elapsed, finished_at,
    since, read_at, checked_at, due_at)
SELECT
    id, source, host, shard, state, depth, rank, parent, position, hops, attempts, url, created_at, token, deadline,
    reason, error, target, status, content_type, etag, last_modified, size, tokens, elapsed, finished_at,
    iif(documents.page IS NULL, NULL, finished_at), iif(documents.page IS NULL, NULL, finished_at),
    iif(state >= 2 AND status IS NOT NULL, finished_at, NULL),
    iif(state >= 2 AND (status IS NOT NULL OR state = 3), finished_at, NULL)
FROM pages LEFT JOIN documents ON documents.page = pages.id
ORDER BY id;

DROP TABLE pages;

ALTER TABLE new_pages RENAME TO pages;

-- Deferred pages are in it too, beyond all others, so that those of one host are found.
CREATE INDEX pages_pending ON pages (source, host, rank, id) WHERE state = 0;

CREATE INDEX pages_deferred ON pages (source, rank, id) WHERE state = 0 AND rank >= 1048576;

CREATE INDEX pages_processing ON pages (source, kind) WHERE state = 1;

CREATE INDEX pages_guides ON pages (source, state) WHERE kind > 0;

-- What was read of a page that is still deferred: it becomes the page's own only when that is decided.
CREATE TABLE drafts (
    page INTEGER PRIMARY KEY REFERENCES pages (id),
    target TEXT,
    status INTEGER,
    content_type TEXT,
    etag TEXT,
    last_modified TEXT,
    size INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    elapsed REAL NOT NULL,
    read_at REAL NOT NULL,
    hash TEXT,
    body BLOB
) STRICT;

-- A page that is delivered again has a new row with a higher sequence in place of the old one.
CREATE UNIQUE INDEX outbox_pages ON outbox (page);

-- `bands` are the keys of the next table, 8 bytes each.
CREATE TABLE fingerprints (
    page INTEGER PRIMARY KEY REFERENCES pages (id),
    source INTEGER NOT NULL REFERENCES sources (id),
    body BLOB NOT NULL,
    sketch BLOB NOT NULL,
    bands BLOB NOT NULL
) STRICT;

CREATE INDEX fingerprints_bodies ON fingerprints (source, body);

CREATE TABLE bands (
    source INTEGER NOT NULL REFERENCES sources (id),
    key INTEGER NOT NULL,
    page INTEGER NOT NULL REFERENCES pages (id),
    PRIMARY KEY (source, key, page)
) STRICT, WITHOUT ROWID;

-- The change feed. `before` is the text that the page had, compressed.
CREATE TABLE changes (
    sequence INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES sources (id),
    page INTEGER NOT NULL REFERENCES pages (id),
    round INTEGER NOT NULL,
    change TEXT NOT NULL,
    at REAL NOT NULL,
    title TEXT,
    hash TEXT,
    previous_hash TEXT,
    before BLOB
) STRICT;

CREATE INDEX changes_pages ON changes (page);

CREATE TABLE patterns (
    source INTEGER NOT NULL REFERENCES sources (id),
    host INTEGER NOT NULL REFERENCES hosts (id),
    pattern TEXT NOT NULL,
    admitted INTEGER NOT NULL,
    allowed INTEGER NOT NULL,
    useful INTEGER NOT NULL,
    useless INTEGER NOT NULL,
    thin INTEGER NOT NULL,
    PRIMARY KEY (source, host, pattern)
) STRICT, WITHOUT ROWID;

-- How the pages of a host are found: by links, or by what guides list alone.
CREATE TABLE roads (
    source INTEGER NOT NULL REFERENCES sources (id),
    host INTEGER NOT NULL REFERENCES hosts (id),
    links INTEGER NOT NULL,
    PRIMARY KEY (source, host)
) STRICT, WITHOUT ROWID;
