-- part: change
(filing.percent - CAST(filing.prior_percent AS REAL))

-- part: scheduled
FROM schedule_filings AS filing INDEXED BY schedule_filings_by_day
WHERE filing.filed_day >= :since AND filing.filed_day <= :until
    AND (:forms IS NULL OR filing.form IN (SELECT value FROM json_each(:forms)))
    AND (:least IS NULL OR filing.percent >= :least) AND (:most IS NULL OR filing.percent <= :most)
    AND (:direction IS NULL OR CASE :direction WHEN 'increase' THEN {change} > 0 WHEN 'decrease' THEN {change} < 0
        ELSE {change} = 0 END)
    AND (:change IS NULL OR abs(round({change}, 6)) >= :change)

-- name: scheduled_count
SELECT count(*) {scheduled}

-- name: scheduled_by_issuer
-- What the filings of a window tell, by issuer and schedule; those that went over to the other schedule by themselves.
SELECT filing.issuer_cik, filing.kind, coalesce(filing.kind <> filing.prior_kind, 0) AS is_conversion,
    count(*) AS filings, json_group_array(DISTINCT person.holder) AS holders,
    sum(NOT filing.is_amendment AND filing.prior_id IS NULL) AS new_positions, sum(filing.is_amendment) AS amendments,
    coalesce(sum({change} > 0), 0) AS increases, coalesce(sum({change} < 0), 0) AS decreases,
    coalesce(sum({change} = 0), 0) AS unchanged, sum(filing.is_amendment AND {change} IS NULL) AS no_delta
FROM (SELECT filing.* {scheduled}) AS filing
JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = filing.lead_seq
GROUP BY filing.issuer_cik, filing.kind, 3

-- name: scheduled_flows
-- Of each 13D that changes a number of shares the close of its day, or of the week before it.
SELECT filing.issuer_cik, filing.lead_shares AS shares, filing.prior_shares AS had, series.acted, series.ticker,
    coalesce(filing.event_date, filing.filed_at) AS day, coalesce(before.event_date, before.filed_at) AS prior_day, (
        SELECT close FROM prices
        WHERE prices.series_id = series.id AND prices.date <= coalesce(filing.event_date, filing.filed_at)
            AND prices.date > date(coalesce(filing.event_date, filing.filed_at), '-7 days')
        ORDER BY prices.date DESC LIMIT 1
    ) AS close
FROM (SELECT filing.* {scheduled}) AS filing
JOIN schedule_filings AS before ON before.id = filing.prior_id
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN price_series AS series ON series.ticker = issuer.ticker AND NOT series.synthetic
WHERE filing.kind = '13D' AND filing.prior_kind = '13D' AND filing.lead_shares IS NOT NULL
    AND filing.prior_shares IS NOT NULL

-- name: issuers_grouped
SELECT cik, name, sic, iif(:grouped_by = 'ticker', ticker, NULL) AS ticker
FROM json_each(:ciks) AS wanted CROSS JOIN companies_with_ticker ON cik = wanted.value
