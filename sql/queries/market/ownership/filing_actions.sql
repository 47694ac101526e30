-- name: transaction_flags_of_forms
SELECT form_id AS id, max(direction = 1) AS bought, max(direction = -1) AS sold, max(acquired_disposed IS 'A') AS acquired,
    max(acquired_disposed IS 'D') AS disposed
FROM insider_transactions
WHERE form_id IN (SELECT value FROM json_each(:ids))
GROUP BY form_id

-- name: schedule_person_facts
SELECT person.id, person.percent, person.shares, filing.is_amendment, filing.is_exit,
    filing.prior_id IS NOT NULL AS has_prior, prior.percent AS prior_percent, substr(filing.purpose, 1, 500) AS purpose
FROM json_each(:ids) AS requested
CROSS JOIN schedule_persons AS person ON person.id = requested.value
JOIN schedule_filings AS filing ON filing.id = person.filing_id
LEFT JOIN schedule_persons AS prior ON prior.id = person.prior_id

-- name: holdings_report_facts
SELECT id, period AS period_of_report, row_count AS position_count, form GLOB '*/A' AS is_amendment, report_type,
    coalesce(value_total * total_unit, iif(row_count > 0, row_value * value_unit, NULL)) AS total_aum_usd
FROM holdings_reports
WHERE id IN (SELECT value FROM json_each(:ids))
