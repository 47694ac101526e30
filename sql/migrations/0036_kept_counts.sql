-- Counts that are kept as rows are written: ten million are not counted because somebody asks how many there are.

-- Facts of each set, and those of them that are answered. check counts the rows, and sees when some are gone.
ALTER TABLE fact_sets ADD COLUMN facts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fact_sets ADD COLUMN shown INTEGER NOT NULL DEFAULT 0;
UPDATE fact_sets SET (facts, shown) = (
    SELECT count(*), count(*) FILTER (WHERE dimension_id = 0 AND hidden = 0)
    FROM facts
    WHERE facts.fact_set_id = fact_sets.id
);
CREATE TABLE held_counts (
    name   TEXT PRIMARY KEY,
    number INTEGER NOT NULL CHECK (number >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO held_counts
SELECT 'filings', count(*) FROM filings WHERE accession NOT GLOB 'unfiled-*'
UNION ALL
SELECT 'insider_transactions', count(*) FROM insider_transactions WHERE superseded_by IS NULL
UNION ALL
SELECT 'holdings', coalesce(sum(row_count), 0) FROM holdings_reports
UNION ALL
SELECT 'prices', count(*) FROM prices;

CREATE TRIGGER filings_added AFTER INSERT ON filings WHEN NEW.accession NOT GLOB 'unfiled-*' BEGIN
    UPDATE held_counts SET number = number + 1 WHERE name = 'filings';
END;
CREATE TRIGGER filings_removed AFTER DELETE ON filings WHEN OLD.accession NOT GLOB 'unfiled-*' BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'filings';
END;
CREATE TRIGGER insider_transactions_added AFTER INSERT ON insider_transactions WHEN NEW.superseded_by IS NULL BEGIN
    UPDATE held_counts SET number = number + 1 WHERE name = 'insider_transactions';
END;
CREATE TRIGGER insider_transactions_removed AFTER DELETE ON insider_transactions WHEN OLD.superseded_by IS NULL BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'insider_transactions';
END;
CREATE TRIGGER insider_transactions_superseded AFTER UPDATE OF superseded_by ON insider_transactions BEGIN
    UPDATE held_counts SET number = number + (NEW.superseded_by IS NULL) - (OLD.superseded_by IS NULL)
    WHERE name = 'insider_transactions';
END;
CREATE TRIGGER holdings_added AFTER INSERT ON holdings_reports BEGIN
    UPDATE held_counts SET number = number + NEW.row_count WHERE name = 'holdings';
END;
CREATE TRIGGER holdings_removed AFTER DELETE ON holdings_reports BEGIN
    UPDATE held_counts SET number = number - OLD.row_count WHERE name = 'holdings';
END;
CREATE TRIGGER prices_added AFTER INSERT ON prices BEGIN
    UPDATE held_counts SET number = number + 1 WHERE name = 'prices';
END;
CREATE TRIGGER prices_removed AFTER DELETE ON prices BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'prices';
END;

-- Of the text that was kept, so that check can tell another text from it; NULL for what was kept before.
ALTER TABLE filing_bodies ADD COLUMN sha256 TEXT;

-- Lists of deliveries that are narrowed to a state, a type or both.
CREATE INDEX deliveries_by_state ON deliveries (user_id, state, event_type, id);
CREATE INDEX deliveries_in_state ON deliveries (user_id, state, id);
CREATE INDEX deliveries_by_type ON deliveries (user_id, event_type, id);
