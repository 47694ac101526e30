-- name: date_filings
UPDATE filings SET first_seen_at = replace(first_seen_at, :then, :now), updated_at = replace(updated_at, :then, :now)

-- name: date_arrivals
UPDATE arrivals SET arrived_at = replace(arrived_at, :then, :now)

-- name: date_insider_forms
UPDATE insider_forms SET stored_at = replace(stored_at, :then, :now)

-- name: date_carried
UPDATE carried SET carried_at = replace(carried_at, :then, :now)

-- name: date_events
UPDATE events SET occurred_at = replace(occurred_at, :then, :now), recorded_at = replace(recorded_at, :then, :now),
    data = replace(data, :then, :now)

-- name: draw_data_stamp
UPDATE data_version SET stamp = hex(randomblob(8))

-- name: date_journal
UPDATE journal SET epoch = :epoch
