-- Sums of insiders' transactions are of exact values, not of rounded ones; the SQL proxy tells of transactions what the
-- lists tell: forms whose filing is not known too, and the ticker that the company is called by.

ALTER TABLE insider_transactions ADD COLUMN exact REAL GENERATED ALWAYS AS (
    CASE WHEN value IS NULL THEN NULL WHEN shares IS NULL OR price IS NULL THEN value ELSE shares * price END
) VIRTUAL;

DROP VIEW insider_transaction;
CREATE VIEW insider_transaction AS
SELECT form.accession AS accession_number, trade.seq, form.form AS form_type, form.filed_at, trade.issuer_cik,
    (
        SELECT ticker FROM tickers
        WHERE tickers.cik = trade.issuer_cik
        ORDER BY source DESC, last_seen DESC, position, ticker
        LIMIT 1
    ) AS symbol,
    trade.owner_cik AS insider_cik, insiders.name AS insider_name, trade.derivative,
    trade.title AS security_title, trade.date AS transaction_date, trade.code, trade.standard_type,
    trade.acquired_disposed, CAST(trade.shares AS REAL) AS shares, CAST(trade.price AS REAL) AS price, trade.value,
    CAST(trade.following_shares AS REAL) AS shares_following, trade.ownership, trade.nature, trade.rule_10b5_1
FROM insider_transactions AS trade
JOIN insider_forms AS form ON form.id = trade.form_id
JOIN insiders ON insiders.cik = trade.owner_cik
WHERE trade.superseded_by IS NULL;
