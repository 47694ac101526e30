-- part: percent_change
(filing.percent - CAST(filing.prior_percent AS REAL))

-- part: windowed_schedules
FROM schedule_filings AS filing INDEXED BY schedule_filings_by_day
WHERE filing.filed_day >= :since AND filing.filed_day <= :until
    AND (:forms IS NULL OR filing.form IN (SELECT value FROM json_each(:forms)))
    AND (:min_percent IS NULL OR filing.percent >= :min_percent)
    AND (:max_percent IS NULL OR filing.percent <= :max_percent)
    AND (:direction IS NULL OR CASE :direction WHEN 'increase' THEN {percent_change} > 0
        WHEN 'decrease' THEN {percent_change} < 0 ELSE {percent_change} = 0 END)
    AND (:min_change IS NULL OR abs(round({percent_change}, 6)) >= :min_change)

-- name: count_windowed_schedules
SELECT count(*) {windowed_schedules}

-- name: schedule_counts_by_issuer
-- Totals over the filings of a window, by issuer, kind of schedule, and whether they are conversions.
SELECT filing.issuer_cik, filing.kind, coalesce(filing.kind <> filing.prior_kind, 0) AS is_conversion,
    count(*) AS filings, json_group_array(DISTINCT person.holder) AS leads,
    sum(NOT filing.is_amendment AND filing.prior_id IS NULL) AS new_positions, sum(filing.is_amendment) AS amendments,
    coalesce(sum({percent_change} > 0), 0) AS increases, coalesce(sum({percent_change} < 0), 0) AS decreases,
    coalesce(sum({percent_change} = 0), 0) AS unchanged, sum(filing.is_amendment AND {percent_change} IS NULL) AS no_delta
FROM (SELECT filing.* {windowed_schedules}) AS filing
JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = filing.lead_seq
GROUP BY filing.issuer_cik, filing.kind, 3

-- name: changed_13d_filings
-- The 13D that follow a 13D, with both numbers of shares and the close of the day, or of one of the six days before.
SELECT filing.issuer_cik, filing.lead_shares AS shares, filing.prior_shares, series.acted AS has_actions, series.ticker,
    coalesce(filing.event_date, filing.filed_at) AS day, coalesce(before.event_date, before.filed_at) AS prior_day, (
        SELECT close FROM prices
        WHERE prices.series_id = series.id AND prices.date <= coalesce(filing.event_date, filing.filed_at)
            AND prices.date > date(coalesce(filing.event_date, filing.filed_at), '-7 days')
        ORDER BY prices.date DESC LIMIT 1
    ) AS close
FROM (SELECT filing.* {windowed_schedules}) AS filing
JOIN schedule_filings AS before ON before.id = filing.prior_id
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN price_series AS series ON series.ticker = issuer.ticker AND NOT series.synthetic
WHERE filing.kind = '13D' AND filing.prior_kind = '13D' AND filing.lead_shares IS NOT NULL
    AND filing.prior_shares IS NOT NULL

-- name: issuers_to_group
SELECT cik, name, sic, iif(:grouped_by = 'ticker', ticker, NULL) AS ticker
FROM json_each(:ciks) AS requested CROSS JOIN companies_with_ticker ON cik = requested.value
