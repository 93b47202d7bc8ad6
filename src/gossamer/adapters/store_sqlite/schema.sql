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
) STRICT;

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
) STRICT;

CREATE TABLE robots (
    host INTEGER PRIMARY KEY REFERENCES hosts (id),
    verdict TEXT NOT NULL,
    body BLOB NOT NULL,
    status INTEGER,
    error TEXT,
    fetched_at REAL NOT NULL,
    expires_at REAL NOT NULL
) STRICT;

CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES sources (id),
    host INTEGER NOT NULL REFERENCES hosts (id),
    shard INTEGER NOT NULL,
    state INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    parent INTEGER REFERENCES pages (id) DEFERRABLE INITIALLY DEFERRED,
    position INTEGER NOT NULL,
    hops INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    url TEXT NOT NULL,
    created_at REAL NOT NULL,
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
    UNIQUE (source, url)
) STRICT;

CREATE INDEX pages_pending ON pages (source, host, rank, id) WHERE state = 0 AND rank < 1048576;

CREATE INDEX pages_deferred ON pages (source, id) WHERE state = 0 AND rank >= 1048576;

CREATE INDEX pages_processing ON pages (source) WHERE state = 1;

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
