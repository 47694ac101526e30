-- A filing that was announced before its date was known hits sniper targets when it is.
ALTER TABLE announced_filings ADD COLUMN undated INTEGER NOT NULL DEFAULT 0 CHECK (undated IN (0, 1));
