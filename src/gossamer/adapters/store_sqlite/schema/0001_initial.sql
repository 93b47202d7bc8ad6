-- The first shape of the store: sources and their pages, hosts and their robots, and the outbox that consumers read.
-- States are small integers: 0 pending, 1 processing, 2 completed, 3 failed, 4 skipped.
-- 1048576 is MAX_RANK of the model: a pending page of that rank or above is deferred.

-- Counters that outlive a process: the epoch of the owner, and the first page id that nobody has reserved.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('epoch', 0), ('next_page', 1);

CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    spec TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    granted INTEGER NOT NULL,
    created_at REAL NOT NULL
) STRICT;

-- What there is of each source, kept with every commit, so that nobody has to count pages.
CREATE TABLE tallies (
    source INTEGER PRIMARY KEY REFERENCES sources (id),
    total INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Every host that a page names has a row. The rest of the row is NULL until there is something to remember of it.
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

-- A document is large and read once: it stays out of the table that every decision reads. Compressed MessagePack.
CREATE TABLE documents (
    page INTEGER PRIMARY KEY REFERENCES pages (id),
    body BLOB NOT NULL
) STRICT;

-- Append-only: a consumer that is new may start at 0.
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
