-- Generated: the sum of all migrations. Change it by adding one.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    spec TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    granted INTEGER NOT NULL,
    created_at REAL NOT NULL
, round INTEGER NOT NULL DEFAULT 1, round_began_at REAL NOT NULL DEFAULT 0) STRICT;

CREATE TABLE tallies (
    source INTEGER PRIMARY KEY REFERENCES sources (id),
    total INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE hosts (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    ready_at REAL,
    wait REAL,
    delay REAL,
    failures INTEGER,
    answered INTEGER,
    blocked INTEGER,
    leased INTEGER,
    waiting_for TEXT,
    last_error TEXT,
    latency REAL
, address TEXT, pace TEXT, learnt TEXT) STRICT;

CREATE TABLE robots (
    host INTEGER PRIMARY KEY REFERENCES hosts (id),
    verdict TEXT NOT NULL,
    body BLOB NOT NULL,
    status INTEGER,
    error TEXT,
    fetched_at REAL NOT NULL,
    expires_at REAL NOT NULL
) STRICT;

CREATE TABLE documents (
    page INTEGER PRIMARY KEY REFERENCES pages (id),
    body BLOB NOT NULL
) STRICT;

CREATE TABLE outbox (
    sequence INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES sources (id),
    page INTEGER NOT NULL REFERENCES pages (id)
) STRICT;

CREATE TABLE cursors (
    consumer TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL,
    "offset" INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE "pages" (
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

CREATE INDEX pages_pending ON pages (source, host, rank, id) WHERE state = 0;

CREATE INDEX pages_deferred ON pages (source, rank, id) WHERE state = 0 AND rank >= 1048576;

CREATE INDEX pages_processing ON pages (source, kind) WHERE state = 1;

CREATE INDEX pages_guides ON pages (source, state) WHERE kind > 0;

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

CREATE UNIQUE INDEX outbox_pages ON outbox (page);

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

CREATE TABLE roads (
    source INTEGER NOT NULL REFERENCES sources (id),
    host INTEGER NOT NULL REFERENCES hosts (id),
    links INTEGER NOT NULL,
    PRIMARY KEY (source, host)
) STRICT, WITHOUT ROWID;
