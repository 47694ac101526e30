-- part: latest_positions
held.form_id, held.seq, held.under, held.class, held.derivative AS is_derivative,
    held.title AS security_title, held.amount AS amount_owned, held.amount_notes, held.ownership AS ownership_nature,
    held.nature, CASE held.ownership WHEN 'I' THEN held.nature END AS indirect_owner_name,
    under.as_of AS reported_date, stake.issuer_cik
FROM insider_stakes AS stake
CROSS JOIN insider_positions AS held ON held.under = (
    SELECT form_id
    FROM insider_stake_forms
    WHERE stake_id = stake.id AND as_of <= :until AND amended = 0
    ORDER BY as_of DESC, filed_day DESC, form_id DESC
    LIMIT 1
) AND held.derivative = stake.derivative AND held.class = stake.class
JOIN insider_forms AS under ON under.id = held.under

-- name: holdings_of_issuer
SELECT DISTINCT {latest_positions}
WHERE stake.issuer_cik = :issuer AND held.superseded_by IS NULL
ORDER BY under.as_of DESC, under.filed_day DESC, held.under DESC, held.form_id DESC, held.seq

-- name: holdings_of_insider
SELECT {latest_positions}
WHERE stake.owner_cik = :insider AND (:issuer IS NULL OR stake.issuer_cik = :issuer)
    AND held.superseded_by IS NULL
ORDER BY stake.issuer_cik, held.derivative, held.class, held.under DESC, held.form_id DESC, held.seq

-- name: holdings_of_everybody
-- A joint position once: under the first of its owners whose latest word it is.
SELECT {latest_positions}
WHERE stake.issuer_cik >= 0 AND held.superseded_by IS NULL
    AND NOT EXISTS (
        SELECT 1
        FROM insider_form_owners AS mine
        JOIN insider_form_owners AS first ON first.form_id = mine.form_id AND first.position < mine.position
        JOIN insider_stakes AS theirs ON theirs.issuer_cik = stake.issuer_cik AND theirs.owner_cik = first.owner_cik
            AND theirs.derivative = stake.derivative AND theirs.class = stake.class
        WHERE mine.form_id = held.under AND mine.owner_cik = stake.owner_cik AND held.under = (
            SELECT form_id
            FROM insider_stake_forms
            WHERE stake_id = theirs.id AND as_of <= :until AND amended = 0
            ORDER BY as_of DESC, filed_day DESC, form_id DESC
            LIMIT 1
        )
    )
ORDER BY stake.issuer_cik, stake.owner_cik, stake.derivative, stake.class, held.form_id, held.seq
LIMIT :limit OFFSET :offset

-- name: holding_forms
SELECT form.id, form.accession AS accession_number, form.filed_at, printf('%010d', form.issuer_cik) AS issuer_cik,
    companies.name AS company_name, companies.sic, companies.ticker
FROM json_each(:forms)
CROSS JOIN insider_forms AS form ON form.id = json_each.value
JOIN companies_with_ticker AS companies ON companies.cik = form.issuer_cik

-- name: roles_of_insider
-- The relationship on the latest form of each company, the latest company first.
SELECT printf('%010d', latest.issuer_cik) AS issuer_cik, latest.roles AS bits, latest.title, companies.name AS company,
    latest.as_of, companies.ticker, form.body
FROM (
    SELECT form.issuer_cik, form.as_of, form.id, form.filed_day, owner.roles, owner.title,
        row_number() OVER (PARTITION BY form.issuer_cik ORDER BY form.filed_day DESC, form.id DESC) AS place
    FROM insider_form_owners AS owner
    JOIN insider_forms AS form ON form.id = owner.form_id
    WHERE owner.owner_cik = :insider
) AS latest
JOIN companies_with_ticker AS companies ON companies.cik = latest.issuer_cik
JOIN insider_forms AS form ON form.id = latest.id
WHERE latest.place = 1
ORDER BY latest.filed_day DESC, latest.id DESC

-- name: year_of_insider
SELECT count(*) FILTER (WHERE owner.filed_day >= :since) AS total_transactions_365d,
    CAST(round(total(exact) FILTER (WHERE owner.filed_day >= :since AND direction = 1)) AS INTEGER) AS total_buy_value_365d,
    CAST(round(total(exact) FILTER (WHERE owner.filed_day >= :since AND direction = -1)) AS INTEGER) AS total_sell_value_365d,
    max(date) AS latest_transaction_date
FROM insider_form_owners AS owner
JOIN insider_transactions AS trade ON trade.form_id = owner.form_id
WHERE owner.owner_cik = :insider AND trade.superseded_by IS NULL

-- name: count_insiders_of_issuer
SELECT count(DISTINCT owner_cik) FROM insider_stakes WHERE issuer_cik = :issuer
