-- Positions whose price is a hundred times and more from the one that managers agree on, whatever explains it: among these
-- are the doubtful ones.
CREATE TABLE positions_far_off (
    period      TEXT NOT NULL,
    security_id INTEGER NOT NULL REFERENCES securities (id),
    cik         INTEGER NOT NULL REFERENCES funds (cik),
    PRIMARY KEY (period, security_id, cik)
) STRICT, WITHOUT ROWID;
CREATE INDEX positions_far_off_by_fund ON positions_far_off (cik, period);

-- Quarters of funds that changed since their positions were compared. After an upgrade the next ingest compares all.
CREATE TABLE fund_quarters_uncompared (
    cik    INTEGER NOT NULL REFERENCES funds (cik),
    period TEXT NOT NULL,
    PRIMARY KEY (cik, period)
) STRICT, WITHOUT ROWID;
INSERT INTO fund_quarters_uncompared SELECT cik, period FROM fund_quarters;

-- What the securities of a quarter sum to by major group of SIC codes, and how many funds hold any of a sector or an
-- industry, as JSON; NULL where that changed since it was summed.
CREATE TABLE group_sums (
    period TEXT PRIMARY KEY,
    sums   TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO group_sums SELECT DISTINCT period, NULL FROM fund_quarters;
CREATE TRIGGER group_sums_changed AFTER UPDATE OF sic_group, security_group ON securities
WHEN OLD.sic_group IS NOT NEW.sic_group OR OLD.security_group IS NOT NEW.security_group BEGIN
    UPDATE group_sums SET sums = NULL
    WHERE sums IS NOT NULL
        AND EXISTS (
            SELECT 1 FROM security_quarters AS quarter
            WHERE quarter.security_id = NEW.id AND quarter.period = group_sums.period
        );
END;
