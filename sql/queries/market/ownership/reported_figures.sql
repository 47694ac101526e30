-- part: fund_position_columns
position.period AS day, position.report_id AS id, position.cik, position.security_id, security.title, security.cusip,
    position.shares, position.value, position.status

-- name: latest_fund_positions
-- The positions in the latest report of each manager, if it is for one of the last two quarters with positions in the issuer.
SELECT {fund_position_columns}
FROM securities AS security
CROSS JOIN positions AS position INDEXED BY positions_by_security ON position.security_id = security.id
    AND position.kind = 0 AND position.status <> 5 AND position.period IN (:latest, :before)
CROSS JOIN funds ON funds.cik = position.cik AND funds.latest_period = position.period
WHERE security.cik = :issuer

-- name: fund_positions_until
-- The positions in the manager's last report up to a day; 0 for a security that only an earlier report contains.
SELECT quarter.period AS day, coalesce(position.report_id, quarter.report_id) AS id, quarter.cik, security.id AS security_id,
    security.title, security.cusip, coalesce(position.shares, 0) AS shares, coalesce(position.value, 0) AS value
FROM fund_quarters AS quarter
CROSS JOIN securities AS security
LEFT JOIN positions AS position ON position.cik = quarter.cik AND position.period = quarter.period AND position.kind = 0
    AND position.security_id = security.id
WHERE quarter.cik = :cik AND security.cik = :issuer
    AND quarter.period = (
        SELECT max(period) FROM fund_quarters WHERE cik = :cik AND period <= :until AND is_early = 0
    )
    AND EXISTS (
        SELECT 1 FROM fund_quarters AS earlier
        CROSS JOIN positions ON positions.cik = earlier.cik AND positions.period = earlier.period AND positions.kind = 0
            AND positions.security_id = security.id
        WHERE earlier.cik = :cik AND earlier.period <= :until
    )

-- name: latest_quarter_of_issuer
SELECT max(quarter.period)
FROM securities AS security
CROSS JOIN security_quarters AS quarter ON quarter.security_id = security.id
WHERE security.cik = :issuer AND quarter.period <= (SELECT max(period) FROM fund_quarters WHERE is_early = 0)

-- part: stake_columns
SELECT coalesce(filing.event_date, filing.filed_at, '') AS day, person.filing_id AS id, person.holder, person.cik, person.name,
    person.shares, person.percent, person.id AS person_id, filing.title, nullif(filing.cusip, '') AS cusip

-- name: latest_stakes
{stake_columns}
FROM schedule_persons AS person INDEXED BY schedule_persons_current
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE person.issuer_cik = :issuer AND person.is_current AND filing.is_latest

-- name: stakes_of_holder_until
-- The rows of a holder that no later row with a day up to the given one follows.
{stake_columns}
FROM schedule_persons AS person
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE person.issuer_cik = :issuer AND person.holder = :holder
    AND coalesce(filing.event_date, filing.filed_at, '') <= :until AND NOT EXISTS (
        SELECT 1 FROM schedule_persons AS later
        JOIN schedule_filings AS after ON after.id = later.filing_id
        WHERE later.issuer_cik = person.issuer_cik AND later.holder = person.holder
            AND (later.prior_id = person.id OR later.cusip = person.cusip)
            AND (later.filed_day, later.filing_id) > (person.filed_day, person.filing_id)
            AND coalesce(after.event_date, after.filed_at, '') <= :until
    )

-- name: insider_holdings_until
-- The holdings after the last form up to a day, for each class of shares.
SELECT form.as_of AS day, form.id, stake.owner_cik AS cik, stake.class, holding.title,
    json_group_array(holding.amount) AS amounts
FROM insider_stakes AS stake
CROSS JOIN insider_positions AS holding ON holding.under = (
    SELECT form_id FROM insider_stake_forms
    WHERE stake_id = stake.id AND as_of <= :until AND amended = 0
    ORDER BY as_of DESC, filed_day DESC, form_id DESC
    LIMIT 1
) AND holding.derivative = 0 AND holding.class = stake.class
JOIN insider_forms AS form ON form.id = holding.under
WHERE stake.issuer_cik = :issuer AND stake.derivative = 0 AND holding.superseded_by IS NULL
    AND (:cik IS NULL OR stake.owner_cik = :cik)
GROUP BY stake.id

-- name: filings_of_figures
-- The filings of figures, by source and id.
SELECT filing.source, filing.id, filing.form, filing.accession, filing.together,
    coalesce(filings.accepted_at, nullif(filing.filed, '') || 'T00:00:00.000Z') AS filed
FROM (
    SELECT 'form_4' AS source, id, form, accession, owner_count AS together, filed_at AS filed
    FROM insider_forms WHERE id IN (SELECT value FROM json_each(:form_4))
    UNION ALL
    SELECT 'form_13f', id, form, accession, 1, filed_at
    FROM holdings_reports WHERE id IN (SELECT value FROM json_each(:form_13f))
    UNION ALL
    SELECT 'form_13dg', id, form, accession, person_count, filed_at
    FROM schedule_filings WHERE id IN (SELECT value FROM json_each(:form_13dg))
    UNION ALL
    SELECT 'form_144', id, form, accession, 1, filed_at
    FROM sale_notices WHERE id IN (SELECT value FROM json_each(:form_144))
) AS filing
LEFT JOIN filings ON filings.accession = filing.accession
