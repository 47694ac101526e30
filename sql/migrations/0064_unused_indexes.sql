-- No query's plan takes them, and every row that is stored pays for them.
DROP INDEX fund_returns_priced;
DROP INDEX quarter_returns_by_period;
DROP INDEX schedule_filings_by_kind;
DROP INDEX schedule_filings_by_form;
