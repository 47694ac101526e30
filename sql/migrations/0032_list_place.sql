-- Where a company stands in the SEC's list of tickers, which is in the order of size.
ALTER TABLE companies ADD COLUMN list_place INTEGER;
