-- What version 2 of the tables has more than version 1; to be read after it.
PRAGMA user_version = 2;
CREATE TABLE late_results (
    id INTEGER PRIMARY KEY,
    conversation TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
INSERT INTO "late_results" VALUES(1,'guest-7',1,'tool_completed',1,1750000200000,'{"text":"booked"}');
