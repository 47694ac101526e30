ALTER TABLE ledger_summed ADD COLUMN IF NOT EXISTS closed_to BIGINT NOT NULL DEFAULT 0;

UPDATE ledger_summed SET closed_to = coalesce(
    (SELECT min(id) - 1 FROM ledger WHERE open = 1), (SELECT max(id) FROM ledger), 0);

DROP INDEX IF EXISTS ledger_open;
