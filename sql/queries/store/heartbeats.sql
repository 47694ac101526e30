-- name: upsert_heartbeat
INSERT INTO heartbeats (name, beat_at, took_ms, failure) VALUES (:name, :now, :took_ms, :failure)
ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at, took_ms = excluded.took_ms, failure = excluded.failure

-- name: heartbeats
SELECT name, beat_at, took_ms, failure FROM heartbeats ORDER BY name

-- name: upsert_arrival
INSERT INTO arrivals (kind, arrived_at) VALUES (:kind, :now)
ON CONFLICT (kind) DO UPDATE SET arrived_at = excluded.arrived_at

-- name: arrivals
SELECT kind, arrived_at FROM arrivals

-- name: stored_counts
-- facts: those that are answered, without dimensions and each from the one source that counts for its filing.
SELECT
    (SELECT number FROM held_counts WHERE name = 'companies') AS companies,
    (SELECT number FROM held_counts WHERE name = 'filings') AS filings,
    (SELECT number FROM held_counts WHERE name = 'facts') AS facts,
    (SELECT number FROM held_counts WHERE name = 'insider_transactions') AS insider_transactions,
    (SELECT number FROM held_counts WHERE name = 'holdings') AS holdings,
    (SELECT number FROM held_counts WHERE name = 'prices') AS prices,
    (SELECT version FROM data_version) AS data_version
