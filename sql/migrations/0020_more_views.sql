-- More of what the SQL proxy may read: insiders and what funds hold. No column bears the name of a table, which a
-- query may not say.

CREATE VIEW insider AS
SELECT cik, name, is_entity FROM insiders;

-- Each transaction once, under the first of its owners, as it was last amended.
CREATE VIEW insider_transaction AS
SELECT form.accession AS accession_number, trade.seq, form.form AS form_type, form.filed_at, trade.issuer_cik,
    form.symbol, trade.owner_cik AS insider_cik, insiders.name AS insider_name, trade.derivative,
    trade.title AS security_title, trade.date AS transaction_date, trade.code, trade.standard_type,
    trade.acquired_disposed, CAST(trade.shares AS REAL) AS shares, CAST(trade.price AS REAL) AS price, trade.value,
    CAST(trade.following_shares AS REAL) AS shares_following, trade.ownership, trade.nature, trade.rule_10b5_1
FROM insider_transactions AS trade
JOIN insider_forms AS form ON form.id = trade.form_id
JOIN insiders ON insiders.cik = trade.owner_cik
WHERE trade.superseded_by IS NULL AND trade.form_id > 0;

CREATE VIEW fund AS
SELECT cik, name, filing_count, latest_period, latest_filed_at, latest_value FROM funds;

CREATE VIEW fund_quarter AS
SELECT fund_quarters.cik AS fund_cik, fund_quarters.period, holdings_reports.accession AS accession_number,
    nullif(holdings_reports.filed_at, '') AS filed_at, fund_quarters.complete, fund_quarters.value,
    fund_quarters.positions AS position_count, fund_quarters.options AS option_count
FROM fund_quarters
JOIN holdings_reports ON holdings_reports.id = fund_quarters.report_id;

CREATE VIEW security AS
SELECT cusip, issuer, title, security_group, ticker AS symbol, cik, evidence FROM securities;

-- The reports of a quarter united, rows of one security added up, values in dollars.
CREATE VIEW holding AS
SELECT positions.cik AS fund_cik, positions.period, securities.cusip, securities.issuer, securities.ticker AS symbol,
    CASE positions.kind WHEN 0 THEN 'shares' WHEN 1 THEN 'principal' WHEN 2 THEN 'call' ELSE 'put' END AS kind,
    positions.shares, positions.value,
    CASE positions.status WHEN 1 THEN 'new' WHEN 2 THEN 'increased' WHEN 3 THEN 'decreased' WHEN 4 THEN 'unchanged'
        WHEN 5 THEN 'closed' END AS status,
    positions.previous_shares, positions.previous_value
FROM positions
JOIN securities ON securities.id = positions.security_id;
