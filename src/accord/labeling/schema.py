"""The tables of a store.

``events`` is only ever added to, and every answer, skip, undo and decision is one of its rows. ``current`` and
``decided`` are what follows from it: they change in the same transaction, and hold nothing that events do not say.
"""

VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (place INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token TEXT UNIQUE,              -- what the client calls it: sent twice, it is stored once
    at REAL NOT NULL,
    annotator TEXT NOT NULL,
    item TEXT NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('answer', 'skip', 'decide', 'import', 'undo')),
    value TEXT,                     -- JSON
    seconds REAL,
    undone INTEGER                  -- the event that took this one back; of an undo, the event that it took back
);
CREATE INDEX IF NOT EXISTS events_of_item ON events (item, annotator, id);
CREATE INDEX IF NOT EXISTS events_of_annotator ON events (annotator, id);
CREATE TABLE IF NOT EXISTS current (
    item TEXT NOT NULL, annotator TEXT NOT NULL, event INTEGER NOT NULL, action TEXT NOT NULL, value TEXT,
    PRIMARY KEY (item, annotator)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS decided (
    item TEXT PRIMARY KEY, annotator TEXT NOT NULL, event INTEGER NOT NULL, value TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leases (
    item TEXT PRIMARY KEY, window TEXT NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS visitors (digest TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID;
"""
