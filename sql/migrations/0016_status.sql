-- The watchdog's checks, counted by hour and day. Times are seconds since 1970: a tick is the moment that a round
-- of checks belongs to, whatever the moment that it was made.

CREATE TABLE status_checks (
    service TEXT NOT NULL CHECK (service <> ''),
    tick    INTEGER NOT NULL,
    class   TEXT NOT NULL CHECK (class IN ('healthy', 'degraded', 'down')),
    ms      INTEGER NOT NULL CHECK (ms >= 0),
    reason  TEXT,
    PRIMARY KEY (service, tick)
) STRICT, WITHOUT ROWID;

CREATE TABLE status_hours (
    service  TEXT NOT NULL,
    start    INTEGER NOT NULL CHECK (start % 3600 = 0),
    checks   INTEGER NOT NULL CHECK (checks = healthy + degraded + down),
    healthy  INTEGER NOT NULL,
    degraded INTEGER NOT NULL,
    down     INTEGER NOT NULL,
    ms       INTEGER NOT NULL,
    PRIMARY KEY (service, start)
) STRICT, WITHOUT ROWID;

CREATE TABLE status_days (
    service  TEXT NOT NULL,
    start    INTEGER NOT NULL CHECK (start % 86400 = 0),
    checks   INTEGER NOT NULL CHECK (checks = healthy + degraded + down),
    healthy  INTEGER NOT NULL,
    degraded INTEGER NOT NULL,
    down     INTEGER NOT NULL,
    ms       INTEGER NOT NULL,
    PRIMARY KEY (service, start)
) STRICT, WITHOUT ROWID;

-- Here and not in code: a check that is kept is counted, once, in its hour and in its day, whoever inserts it.
CREATE TRIGGER status_check_counted AFTER INSERT ON status_checks BEGIN
    INSERT INTO status_hours (service, start, checks, healthy, degraded, down, ms)
    VALUES (NEW.service, NEW.tick - NEW.tick % 3600, 1,
            NEW.class = 'healthy', NEW.class = 'degraded', NEW.class = 'down', NEW.ms)
    ON CONFLICT (service, start) DO UPDATE SET
        checks = checks + 1, healthy = healthy + excluded.healthy, degraded = degraded + excluded.degraded,
        down = down + excluded.down, ms = ms + excluded.ms;
    INSERT INTO status_days (service, start, checks, healthy, degraded, down, ms)
    VALUES (NEW.service, NEW.tick - NEW.tick % 86400, 1,
            NEW.class = 'healthy', NEW.class = 'degraded', NEW.class = 'down', NEW.ms)
    ON CONFLICT (service, start) DO UPDATE SET
        checks = checks + 1, healthy = healthy + excluded.healthy, degraded = degraded + excluded.degraded,
        down = down + excluded.down, ms = ms + excluded.ms;
END;

-- From one status to another; before the first of them a service was operational.
CREATE TABLE status_changes (
    id         INTEGER PRIMARY KEY,
    service    TEXT NOT NULL,
    changed_at TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('operational', 'degraded', 'down')),
    reason     TEXT
) STRICT;

CREATE INDEX status_changes_by_service ON status_changes (service, id);
