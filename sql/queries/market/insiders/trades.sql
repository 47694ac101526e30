-- part: matches_filters
-- The filters of transactions except those of days. Bits of roles as in titles.py.
trade.superseded_by IS NULL AND (:type IS NULL OR trade.standard_type = :type)
    AND (:codes IS NULL OR instr(:codes, trade.code))
    AND (:acquired_disposed IS NULL OR trade.acquired_disposed = :acquired_disposed)
    AND (:min_value IS NULL OR trade.value >= :min_value) AND (:max_value IS NULL OR trade.value <= :max_value)
    AND (:min_shares IS NULL OR CAST(trade.shares AS REAL) >= :min_shares)
    AND (:max_shares IS NULL OR CAST(trade.shares AS REAL) <= :max_shares)
    AND (:min_percent IS NULL OR trade.percent_of_holding >= :min_percent)
    AND (:max_percent IS NULL OR trade.percent_of_holding <= :max_percent)
    AND trade.roles & :with_roles = :with_roles AND trade.roles & :without_roles = 0
    AND (:sic_ranges IS NULL OR EXISTS (SELECT 1 FROM json_each(:sic_ranges)
        WHERE trade.sic BETWEEN json_each.value ->> 0 AND json_each.value ->> 1))
    AND (:sector IS NULL OR trade.sector = :sector) AND (:industry IS NULL OR trade.industry = :industry)
    AND NOT (:no_plan AND trade.rule_10b5_1) AND NOT (:no_cashless AND trade.is_cashless)
    AND NOT (:no_cover AND trade.is_sell_to_cover)
    AND (:earnings_within IS NULL OR EXISTS (
        SELECT 1 FROM filing_terms AS company
        JOIN filing_terms AS item ON item.term = 'i2.02' AND item.filed_at = company.filed_at AND item.number = company.number
        WHERE company.term = 'c' || trade.issuer_cik AND company.filed_at > trade.date
            AND company.filed_at <= date(trade.date, '+' || :earnings_within || ' days')))
    AND (NOT :dedup OR trade.same_trade_as IS NULL)

-- part: within
{matches_filters} AND trade.filed_day >= :since AND trade.filed_day <= :until
    AND (:date_from IS NULL OR trade.date >= :date_from) AND (:date_to IS NULL OR trade.date <= :date_to)

-- part: is_ranked
-- Rankings by value list a trade once, and not if its value is doubtful.
trade.same_trade_as IS NULL AND trade.value_doubt IS NULL

-- part: newest
SELECT trade.id, 0 AS value, trade.filed_day, trade.form_id, trade.seq
FROM insider_transactions AS trade

-- part: newest_first
{within} AND (trade.filed_day, trade.form_id, trade.seq) < (:day, :form, :seq)
ORDER BY trade.filed_day DESC, trade.form_id DESC, trade.seq DESC
LIMIT :limit OFFSET :offset

-- part: traded_day
-- The Julian day of the trade; 1 without a date, so that such trades come last. 0 marks lists sorted by filing day.
coalesce(CAST(julianday(trade.date) AS INTEGER), 1)

-- part: last_traded_first
{within} AND ({traded_day}, trade.filed_day, trade.form_id, trade.seq) < (:value, :day, :form, :seq)
ORDER BY {traded_day} DESC, trade.filed_day DESC, trade.form_id DESC, trade.seq DESC
LIMIT :limit OFFSET :offset

-- name: trades_of_all
{newest} WHERE {newest_first}

-- name: trades_of_type
{newest} WHERE trade.standard_type = :type AND {newest_first}

-- name: trades_of_codes
{newest} WHERE trade.code = :codes AND {newest_first}

-- name: trades_of_sector
{newest} WHERE trade.sector = :sector AND {newest_first}

-- name: trades_of_industry
{newest} WHERE trade.industry = :industry AND {newest_first}

-- name: trades_of_issuer
{newest} WHERE trade.issuer_cik = :issuer AND {newest_first}

-- name: trades_of_insider
SELECT trade.id, 0 AS value, trade.filed_day, trade.form_id, trade.seq
FROM insider_form_owners AS owner
CROSS JOIN insider_transactions AS trade ON trade.form_id = owner.form_id
WHERE owner.owner_cik = :insider AND (owner.filed_day, owner.form_id) <= (:day, :form) AND owner.filed_day >= :since
    AND {within} AND (trade.filed_day, trade.form_id, trade.seq) < (:day, :form, :seq)
ORDER BY owner.filed_day DESC, owner.form_id DESC, trade.seq DESC
LIMIT :limit OFFSET :offset

-- name: trades_of_issuer_by_trade_date
SELECT trade.id, {traded_day} AS value, trade.filed_day, trade.form_id, trade.seq
FROM insider_transactions AS trade
WHERE trade.issuer_cik = :issuer AND {last_traded_first}

-- name: trades_of_insider_by_trade_date
SELECT trade.id, {traded_day} AS value, trade.filed_day, trade.form_id, trade.seq
FROM insider_form_owners AS owner
CROSS JOIN insider_transactions AS trade ON trade.form_id = owner.form_id
WHERE owner.owner_cik = :insider AND owner.filed_day >= :since AND {last_traded_first}

-- name: trades_of_any
SELECT DISTINCT trade.id, 0 AS value, trade.filed_day, trade.form_id, trade.seq
FROM (
    SELECT owner.form_id
    FROM json_each(:insiders)
    CROSS JOIN insider_form_owners AS owner ON owner.owner_cik = json_each.value AND owner.filed_day >= :since
    UNION
    SELECT form.id
    FROM json_each(:issuers)
    CROSS JOIN insider_forms AS form ON form.issuer_cik = json_each.value AND form.filed_day >= :since
) AS forms
CROSS JOIN insider_transactions AS trade ON trade.form_id = forms.form_id
WHERE {newest_first}

-- part: type_count
count(DISTINCT trade.id) AS row_count, min(nullif(trade.filed_day, 0)) AS first_day, max(trade.filed_day) AS last_day

-- name: type_counts_of_issuer
SELECT trade.standard_type, {type_count}
FROM insider_transactions AS trade
WHERE trade.issuer_cik = :issuer AND trade.superseded_by IS NULL
GROUP BY trade.standard_type
ORDER BY row_count DESC, trade.standard_type

-- name: type_counts_of_insider
SELECT trade.standard_type, {type_count}
FROM insider_form_owners AS owner
JOIN insider_transactions AS trade ON trade.form_id = owner.form_id
WHERE owner.owner_cik = :insider AND trade.superseded_by IS NULL
GROUP BY trade.standard_type
ORDER BY row_count DESC, trade.standard_type

-- part: greatest
SELECT trade.id, trade.value, trade.filed_day, trade.form_id, trade.seq
FROM insider_transactions AS trade

-- part: greatest_first
trade.direction <> 0 AND trade.direction = :direction AND trade.value IS NOT NULL AND {is_ranked}
    AND (trade.value, trade.filed_day, trade.form_id, trade.seq) < (:value, :day, :form, :seq) AND {within}
ORDER BY trade.value DESC, trade.filed_day DESC, trade.form_id DESC, trade.seq DESC
LIMIT :limit OFFSET :offset

-- name: top_trades_of_all
{greatest} WHERE {greatest_first}

-- name: top_trades_of_sector
{greatest} WHERE trade.sector = :sector AND {greatest_first}

-- name: top_trades_of_industry
{greatest} WHERE trade.industry = :industry AND {greatest_first}

-- part: few_first
-- The transactions that an index finds, sorted by value if a direction is set, else by filing day.
{within} AND (:direction IS NULL OR (trade.direction = :direction AND trade.value IS NOT NULL AND {is_ranked}))
    AND (iif(:direction IS NULL, 0, trade.value), trade.filed_day, trade.form_id, trade.seq)
        < (:value, :day, :form, :seq)
ORDER BY 2 DESC, trade.filed_day DESC, trade.form_id DESC, trade.seq DESC
LIMIT :limit OFFSET :offset

-- part: few
SELECT trade.id, iif(:direction IS NULL, 0, trade.value) AS value, trade.filed_day, trade.form_id, trade.seq

-- part: by_date
FROM insider_transactions AS trade INDEXED BY insider_transactions_by_date
WHERE trade.superseded_by IS NULL AND trade.date >= coalesce(:date_from, '') AND trade.date <= coalesce(:date_to, '9999')

-- part: by_filing_day
FROM insider_transactions AS trade INDEXED BY insider_transactions_by_day
WHERE trade.superseded_by IS NULL AND trade.filed_day >= :since AND trade.filed_day <= :until

-- part: by_value
FROM insider_transactions AS trade INDEXED BY insider_transactions_by_value
WHERE trade.superseded_by IS NULL AND trade.direction IN (-1, 0, 1) AND trade.value >= :min_value

-- name: few_trades_by_date
{few} {by_date} AND {few_first}

-- name: few_trades_by_filing_day
{few} {by_filing_day} AND {few_first}

-- name: few_trades_by_value
{few} {by_value} AND {few_first}

-- name: few_trades_count_by_date
SELECT count(*) FROM (SELECT 1 {by_date} LIMIT :max_count)

-- name: few_trades_count_by_filing_day
SELECT count(*) FROM (SELECT 1 {by_filing_day} LIMIT :max_count)

-- name: few_trades_count_by_value
SELECT count(*) FROM (SELECT 1 {by_value} LIMIT :max_count)

-- name: count_trades_of_all_as_of
SELECT count(*) FROM insider_transactions WHERE superseded_by IS NULL AND filed_day > 0

-- name: count_trades_of_all
-- The stored count without transactions filed before 1970, which no list shows.
SELECT number - (SELECT count(*) FROM insider_transactions WHERE superseded_by IS NULL AND filed_day < 0)
FROM held_counts
WHERE name = 'insider_transactions'

-- name: count_trades_of_type
SELECT count(*) FROM insider_transactions WHERE superseded_by IS NULL AND standard_type = :type

-- name: count_trades_of_codes
SELECT count(*) FROM insider_transactions WHERE superseded_by IS NULL AND code = :codes

-- name: count_trades_of_sector
SELECT count(*)
FROM insider_transactions
WHERE superseded_by IS NULL AND sector = :sector AND (:type IS NULL OR standard_type = :type)

-- name: count_trades_of_industry
SELECT count(*)
FROM insider_transactions
WHERE superseded_by IS NULL AND industry = :industry AND (:type IS NULL OR standard_type = :type)
    AND (:sector IS NULL OR sector = :sector)

-- name: count_trades_of_issuer
SELECT count(*) FROM insider_transactions AS trade WHERE trade.issuer_cik = :issuer AND {within}

-- name: count_trades_of_insider
SELECT count(*)
FROM insider_form_owners AS owner
CROSS JOIN insider_transactions AS trade ON trade.form_id = owner.form_id
WHERE owner.owner_cik = :insider AND {within}

-- name: count_top_trades_of_all
SELECT count(*)
FROM insider_transactions AS trade
WHERE superseded_by IS NULL AND direction <> 0 AND direction = :direction AND value IS NOT NULL AND {is_ranked}

-- name: count_top_trades_of_sector
SELECT count(*)
FROM insider_transactions AS trade
WHERE superseded_by IS NULL AND direction <> 0 AND direction = :direction AND sector = :sector
    AND value IS NOT NULL AND {is_ranked}

-- name: count_top_trades_of_industry
SELECT count(*)
FROM insider_transactions AS trade
WHERE superseded_by IS NULL AND direction <> 0 AND direction = :direction AND industry = :industry
    AND (:sector IS NULL OR sector = :sector) AND value IS NOT NULL AND {is_ranked}

-- part: undated
-- Transactions that windows leave out because a date is not known, although all other filters match.
((trade.filed_day = 0 AND :since > 0) OR (trade.date IS NULL AND coalesce(:date_from, :date_to) IS NOT NULL))
    AND (trade.filed_day = 0 OR trade.filed_day BETWEEN :since AND :until)
    AND (trade.date IS NULL OR trade.date BETWEEN coalesce(:date_from, '') AND coalesce(:date_to, '9999'))
    AND {matches_filters}

-- name: undated_trades
-- The number of undated transactions of a company, or of all companies.
SELECT count(*)
FROM (
    SELECT * FROM insider_transactions INDEXED BY insider_transactions_by_issuer
    WHERE superseded_by IS NULL AND issuer_cik = :issuer AND (filed_day = 0 OR filed_day >= :since)
    UNION ALL
    SELECT * FROM insider_transactions INDEXED BY insider_transactions_by_day
    WHERE :issuer IS NULL AND superseded_by IS NULL AND filed_day = 0
    UNION ALL
    SELECT * FROM insider_transactions INDEXED BY insider_transactions_by_date
    WHERE :issuer IS NULL AND superseded_by IS NULL AND date IS NULL AND filed_day >= max(1, :since)
) AS trade
WHERE (direction <> 0 OR NOT :directed) AND {undated}

-- name: undated_trades_of_insider
SELECT count(*)
FROM insider_form_owners AS owner
CROSS JOIN insider_transactions AS trade ON trade.form_id = owner.form_id
WHERE owner.owner_cik = :insider AND {undated}

-- name: undated_trades_of_any
SELECT count(*)
FROM (
    SELECT owner.form_id
    FROM json_each(:insiders)
    CROSS JOIN insider_form_owners AS owner ON owner.owner_cik = json_each.value
    UNION
    SELECT form.id
    FROM json_each(:issuers)
    CROSS JOIN insider_forms AS form ON form.issuer_cik = json_each.value
) AS forms
CROSS JOIN insider_transactions AS trade ON trade.form_id = forms.form_id
WHERE {undated}

-- name: trades_by_id
SELECT trade.form_id, form.accession || ':' || trade.seq AS transaction_id, trade.date AS transaction_date,
    trade.code AS transaction_code, trade.standard_type, trade.acquired_disposed AS acquired_disposed_code,
    trade.shares, trade.price AS price_per_share, trade.value AS transaction_value,
    trade.following_shares AS shares_owned_following, trade.following_value AS value_owned_following,
    trade.ownership AS ownership_nature, CASE trade.ownership WHEN 'I' THEN trade.nature END AS indirect_owner_name,
    trade.derivative AS is_derivative, trade.title AS security_type, trade.rule_10b5_1 AS is_rule_10b5_1,
    trade.plan_source AS rule_10b5_1_source, trade.is_cashless AS is_cashless_exercise, trade.is_sell_to_cover,
    trade.value_doubt, first_form.accession || ':' || first_trade.seq AS same_trade_as,
    trade.figure_notes, trade.sic, trade.percent_of_holding, printf('%010d', trade.issuer_cik) AS issuer_cik, form.accession AS accession_number,
    form.form AS form_type, form.filed_at AS filing_date, form.filed_at, form.period AS period_of_report, form.is_late,
    form.business_days AS business_days_to_file, form.is_amendment, form.owner_count,
    form.nonderiv_holdings AS non_derivative_holding_count, form.deriv_holdings AS derivative_holding_count,
    form.footnote_count, filings.accepted_at, companies.name AS company_name, companies.ticker
FROM json_each(:ids)
CROSS JOIN insider_transactions AS trade ON trade.id = json_each.value
JOIN insider_forms AS form ON form.id = trade.form_id
JOIN companies_with_ticker AS companies ON companies.cik = trade.issuer_cik
LEFT JOIN filings ON filings.accession = form.accession
LEFT JOIN insider_transactions AS first_trade ON first_trade.id = trade.same_trade_as
LEFT JOIN insider_forms AS first_form ON first_form.id = first_trade.form_id
ORDER BY json_each.key

-- name: next_earnings
SELECT value ->> 0 AS issuer, value ->> 1 AS day, (
        SELECT company.filed_at FROM filing_terms AS company
        JOIN filing_terms AS item ON item.term = 'i2.02' AND item.filed_at = company.filed_at AND item.number = company.number
        WHERE company.term = 'c' || CAST(value ->> 0 AS INTEGER) AND company.filed_at > value ->> 1
            AND company.filed_at <= date(value ->> 1, '+366 days')
        ORDER BY company.filed_at
        LIMIT 1
    ) AS filed_at
FROM json_each(:trades)

-- name: owners_of_forms
-- The bits of roles are those of titles.py.
SELECT owner.form_id, printf('%010d', owner.owner_cik) AS cik, insiders.name, insiders.is_entity,
    owner.roles & 1 AS is_director, owner.roles & 2 AS is_officer, owner.roles & 4 AS is_ten_percent_owner,
    owner.roles & 8 AS is_other, owner.roles & 16 AS is_c_suite, owner.title AS officer_title,
    coalesce(owner.title, owner.other) AS title
FROM json_each(:forms)
CROSS JOIN insider_form_owners AS owner ON owner.form_id = json_each.value
JOIN insiders ON insiders.cik = owner.owner_cik
ORDER BY owner.form_id, owner.position

-- name: amounts_under_forms
SELECT holding.under, holding.class, holding.amount
FROM json_each(:forms)
CROSS JOIN insider_positions AS holding ON holding.under = json_each.value AND holding.derivative = 0
WHERE holding.superseded_by IS NULL

-- name: transactions_of_form
SELECT id FROM insider_transactions WHERE form_id = :form_id ORDER BY seq
