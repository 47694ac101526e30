-- Filings and their terms are counted by whoever stores them (market/documents/filings.py), once for all of a list: a
-- trigger for each of the thousand filings of a company cost more than their rows.
DROP TRIGGER filing_terms_added;
DROP TRIGGER filing_terms_removed;
DROP TRIGGER filings_added;
DROP TRIGGER filings_removed;
