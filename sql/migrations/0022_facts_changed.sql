-- How often held facts of a company were told otherwise, or more of: with its sets of facts and their filings it says
-- whether a book that was made of them is still true.
ALTER TABLE companies ADD COLUMN facts_changed INTEGER NOT NULL DEFAULT 0;
