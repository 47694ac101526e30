-- part: matching_positions
FROM fund_positions
JOIN fund_securities ON fund_securities.id = fund_positions.security_id
WHERE fund_positions.report_id = :report_id
    AND (:cusip IS NULL OR fund_securities.cusip = :cusip)
    AND (:isin IS NULL OR fund_securities.isin = :isin)
    AND (:asset_category IS NULL OR fund_securities.asset_category = :asset_category)
    AND (:derivative_category IS NULL OR fund_positions.derivative_category = :derivative_category)
    AND (:min_percent IS NULL OR CAST(fund_positions.percent AS REAL) >= :min_percent)

-- part: position_columns
SELECT fund_positions.seq AS sequence, name, lei, fund_securities.title, fund_securities.cusip, isin,
    coalesce(
        fund_securities.ticker, (SELECT ticker FROM securities WHERE securities.cusip = fund_securities.cusip)
    ) AS ticker,
    identifiers, balance, units, currency, exchange_rate, value AS val_usd, percent AS pct_val, payoff_profile,
    asset_category AS asset_cat, asset_description, issuer_category AS issuer_cat, issuer_description,
    country AS inv_country, is_restricted AS is_restricted_sec, fair_value_level,
    derivative_category AS derivative_cat, terms

-- name: positions_by_value
{position_columns} {matching_positions}
ORDER BY CAST(fund_positions.value AS REAL) DESC, fund_positions.seq
LIMIT :limit OFFSET :offset

-- name: positions_by_sequence
{position_columns} {matching_positions}
ORDER BY fund_positions.seq
LIMIT :limit OFFSET :offset

-- name: count_of_positions
SELECT count(*) {matching_positions}

-- part: holders
FROM fund_securities
CROSS JOIN fund_positions INDEXED BY fund_positions_by_security ON fund_positions.security_id = fund_securities.id
CROSS JOIN fund_reports ON fund_reports.id = fund_positions.report_id
LEFT JOIN filings ON filings.accession = fund_reports.accession
WHERE fund_securities.id IN (
        SELECT id FROM fund_securities WHERE cusip = :cusip
        UNION ALL
        SELECT named.id
        FROM json_each(:isin_starts) AS start
        CROSS JOIN fund_securities AS named ON named.isin >= start.value AND named.isin < start.value || '~'
    )
    AND CASE WHEN :month IS NULL THEN fund_reports.is_latest AND fund_reports.is_final IS NOT 1
        ELSE fund_reports.is_current AND substr(fund_reports.period, 1, 7) = :month END

-- name: holders_of_security
SELECT series_id, series_name, fund_reports.cik, registrant_name AS reg_name, period AS as_of,
    fund_reports.accession AS accession_number, name, title, balance, units, value AS val_usd, percent AS pct_val,
    asset_category AS asset_cat, payoff_profile, net_assets AS fund_net_assets, doubts,
    coalesce(filings.accepted_at, fund_reports.filed_at || 'T00:00:00.000Z') AS filed_at
{holders}
ORDER BY CAST(value AS REAL) DESC, fund_reports.accession, seq
LIMIT :limit OFFSET :offset

-- name: count_of_holders
SELECT count(*) {holders}
