-- Companies with the ticker each is called by: the first of those that its best source last listed.
CREATE VIEW companies_with_ticker AS
SELECT cik, name, sic, (
    SELECT ticker FROM tickers
    WHERE tickers.cik = companies.cik
    ORDER BY source DESC, last_seen DESC, position, ticker
    LIMIT 1
) AS ticker
FROM companies;
