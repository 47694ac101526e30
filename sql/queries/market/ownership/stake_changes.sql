-- part: conversions
FROM schedule_filings AS filing INDEXED BY schedule_filings_converted
JOIN schedule_filings AS before ON before.id = filing.prior_id
WHERE filing.kind <> filing.prior_kind AND filing.filed_day >= :since

-- name: schedule_conversions
SELECT person.cik, person.name AS filerName, filing.issuer_cik, issuer.ticker AS issuerTicker,
    before.form AS priorFormType, filing.form AS currentFormType, before.kind || '_TO_' || filing.kind AS direction,
    before.accession AS priorAccession, filing.accession AS currentAccession,
    coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS convertedAt
FROM (SELECT filing.id {conversions} ORDER BY filing.filed_day DESC, filing.id DESC LIMIT :limit OFFSET :offset) AS conversion
CROSS JOIN schedule_filings AS filing ON filing.id = conversion.id
JOIN schedule_filings AS before ON before.id = filing.prior_id
JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = filing.lead_seq
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN filings ON filings.accession = filing.accession
ORDER BY filing.filed_day DESC, filing.id DESC

-- name: count_schedule_conversions
SELECT count(*) {conversions}

-- name: count_undated_conversions
SELECT count(*) FROM schedule_filings INDEXED BY schedule_filings_converted
WHERE kind <> prior_kind AND filed_day = 0

-- part: changed_percentages
-- Filings that may have passed a threshold.
SELECT id, filed_day, percent, CAST(prior_percent AS REAL) AS prior, prior_id IS NULL AND NOT is_amendment AS is_first
FROM schedule_filings INDEXED BY schedule_filings_by_day
WHERE filed_day >= :since AND filed_day <= :until AND (:issuer IS NULL OR issuer_cik = :issuer)
    AND (percent <> CAST(prior_percent AS REAL) OR (prior_id IS NULL AND percent >= 5))

-- part: passed_thresholds
-- The LIMIT keeps SQLite from parsing the JSON again for every filing.
AS filing
CROSS JOIN (SELECT value FROM json_each(:thresholds) LIMIT -1) AS threshold
WHERE (threshold.value = 5 OR NOT filing.is_first) AND CASE coalesce(:direction, '')
    WHEN 'up' THEN {passes_upwards} WHEN 'down' THEN {passes_downwards} ELSE {passes_upwards} OR {passes_downwards} END

-- part: passes_upwards
(filing.percent >= threshold.value AND (filing.prior < threshold.value OR (filing.is_first AND threshold.value = 5)))

-- part: passes_downwards
(filing.percent < threshold.value AND filing.prior >= threshold.value)

-- name: threshold_crossings
SELECT filing.accession AS accessionNumber, filing.issuer_cik, issuer.ticker AS issuerTicker, person.cik,
    coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS filedAt, person.name AS filerName,
    crossing.percent AS threshold, iif(filing.percent >= crossing.percent, 'up', 'down') AS direction,
    filing.prior_percent AS priorPercent, filing.lead_percent AS currentPercent
FROM (
    SELECT filing.id, threshold.value AS percent FROM ({changed_percentages}) {passed_thresholds}
    ORDER BY filing.filed_day DESC, filing.id DESC, threshold.value DESC LIMIT :limit OFFSET :offset
) AS crossing
CROSS JOIN schedule_filings AS filing ON filing.id = crossing.id
JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = filing.lead_seq
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN filings ON filings.accession = filing.accession
ORDER BY filing.filed_day DESC, filing.id DESC, crossing.percent DESC

-- name: count_threshold_crossings
-- The LIMIT keeps SQLite from computing the columns of a filing again for every threshold.
SELECT count(*) FROM ({changed_percentages} LIMIT -1) {passed_thresholds}
