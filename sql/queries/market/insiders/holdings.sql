-- part: latest_positions
-- Of each insider, company and class, the positions on the latest form that reports the class until a day. An amended
-- form does not count: the amendment has taken over its positions.
holding.form_id, holding.seq, holding.under, holding.class, holding.derivative AS is_derivative,
    holding.title AS security_title, holding.amount AS amount_owned, holding.amount_notes, holding.ownership AS ownership_nature,
    holding.nature, CASE holding.ownership WHEN 'I' THEN holding.nature END AS indirect_owner_name,
    under.as_of AS reported_date, stake.issuer_cik
FROM insider_stakes AS stake
CROSS JOIN insider_positions AS holding ON holding.under = (
    SELECT form_id
    FROM insider_stake_forms
    WHERE stake_id = stake.id AND as_of <= :until AND amended = 0
    ORDER BY as_of DESC, filed_day DESC, form_id DESC
    LIMIT 1
) AND holding.derivative = stake.derivative AND holding.class = stake.class
JOIN insider_forms AS under ON under.id = holding.under

-- name: holdings_of_issuer
SELECT DISTINCT {latest_positions}
WHERE stake.issuer_cik = :issuer AND holding.superseded_by IS NULL
ORDER BY under.as_of DESC, under.filed_day DESC, holding.under DESC, holding.form_id DESC, holding.seq

-- name: holdings_of_insider
SELECT {latest_positions}
WHERE stake.owner_cik = :insider AND (:issuer IS NULL OR stake.issuer_cik = :issuer)
    AND holding.superseded_by IS NULL
ORDER BY stake.issuer_cik, holding.derivative, holding.class, holding.under DESC, holding.form_id DESC, holding.seq

-- name: holdings_of_all
-- A joint position is returned once: for the first of its owners for whom it is on the latest form.
SELECT {latest_positions}
WHERE stake.issuer_cik >= 0 AND holding.superseded_by IS NULL
    AND NOT EXISTS (
        SELECT 1
        FROM insider_form_owners AS own
        JOIN insider_form_owners AS first ON first.form_id = own.form_id AND first.position < own.position
        JOIN insider_stakes AS first_stake ON first_stake.issuer_cik = stake.issuer_cik
            AND first_stake.owner_cik = first.owner_cik AND first_stake.derivative = stake.derivative AND first_stake.class = stake.class
        WHERE own.form_id = holding.under AND own.owner_cik = stake.owner_cik AND holding.under = (
            SELECT form_id
            FROM insider_stake_forms
            WHERE stake_id = first_stake.id AND as_of <= :until AND amended = 0
            ORDER BY as_of DESC, filed_day DESC, form_id DESC
            LIMIT 1
        )
    )
ORDER BY stake.issuer_cik, stake.owner_cik, stake.derivative, stake.class, holding.form_id, holding.seq
LIMIT :limit OFFSET :offset

-- name: holding_forms
SELECT form.id, form.accession AS accession_number, form.filed_at, printf('%010d', form.issuer_cik) AS issuer_cik,
    companies.name AS company_name, companies.sic, companies.ticker
FROM json_each(:forms)
CROSS JOIN insider_forms AS form ON form.id = json_each.value
JOIN companies_with_ticker AS companies ON companies.cik = form.issuer_cik

-- name: roles_of_insider
-- The roles on the latest form of each company, the latest company first.
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
-- A trade that the insider reports on two forms counts once. The repeat of another owner's trade counts for this insider.
SELECT count(*) FILTER (WHERE owner.filed_day >= :since) AS total_transactions_365d,
    CAST(round(total(exact) FILTER (WHERE owner.filed_day >= :since AND direction = 1)) AS INTEGER) AS total_buy_value_365d,
    CAST(round(total(exact) FILTER (WHERE owner.filed_day >= :since AND direction = -1)) AS INTEGER) AS total_sell_value_365d,
    max(date) AS latest_transaction_date
FROM insider_form_owners AS owner
JOIN insider_transactions AS trade ON trade.form_id = owner.form_id
WHERE owner.owner_cik = :insider AND trade.superseded_by IS NULL AND trade.value_doubt IS NULL
    AND (trade.same_trade_as IS NULL OR NOT EXISTS (
        SELECT 1
        FROM insider_transactions AS first_trade
        JOIN insider_form_owners AS first_owner ON first_owner.form_id = first_trade.form_id
        WHERE first_trade.id = trade.same_trade_as AND first_owner.owner_cik = :insider
    ))

-- name: count_insiders_of_issuer
SELECT count(DISTINCT owner_cik) FROM insider_stakes WHERE issuer_cik = :issuer
