-- name: upsert_fund
INSERT INTO funds (cik, name, name_as_of, filing_count)
VALUES (:cik, :name, :as_of, 0)
ON CONFLICT (cik) DO UPDATE
SET name = excluded.name, name_as_of = excluded.name_as_of
WHERE (excluded.name_as_of, excluded.name) > (funds.name_as_of, funds.name)

-- name: delete_fund_words
DELETE FROM fund_words WHERE cik = :cik

-- name: insert_fund_words
INSERT OR IGNORE INTO fund_words (word, cik) VALUES (?, ?)

-- name: update_fund_totals
UPDATE funds
SET (filing_count, latest_filed_at) = (
        SELECT count(DISTINCT accession), max(filed_at) FROM holdings_reports WHERE holdings_reports.cik = funds.cik
    ),
    (latest_period, latest_value) = (
        SELECT period, value FROM fund_quarters WHERE fund_quarters.cik = funds.cik ORDER BY is_early, period DESC LIMIT 1
    )
WHERE cik = :cik

-- name: insert_holdings_report
-- update_report_from_filing sets the accession number and the day, update_value_unit the units.
INSERT INTO holdings_reports (filing_id, cik, accession, filed_at, sha256, form, period, report_type, amendment_type,
    amendment_number, name, address, file_number, signer, signer_title, signed, entry_total, value_total,
    confidential_omitted, row_count, row_value, rejected_count, value_unit, total_unit, value_unit_rule, corrected, documents)
VALUES (:filing_id, :cik, '', '', :sha256, :form, :period, :report_type, :amendment_type,
    :amendment_number, :name, :address, :file_number, :signer, :signer_title, :signed, :entry_total, :value_total,
    :confidential_omitted, :row_count, :row_value, :rejected_count, 1, 1, '', 0, :documents)

-- name: insert_holdings_managers
INSERT INTO holdings_managers (report_id, seq, number, name, cik, file_number, included) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: insert_holding_names
INSERT OR IGNORE INTO holding_names (issuer, title) VALUES (?, ?)

-- name: holding_name_ids
SELECT issuer, title, holding_names.id
FROM json_each(:names) AS named
CROSS JOIN holding_names ON holding_names.issuer = named.value ->> 0 AND holding_names.title = named.value ->> 1

-- name: insert_holdings
INSERT INTO holdings (report_id, seq, security_id, name_id, kind, principal, value, amount, figi, discretion, managers,
    sole, shared, none)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: holdings_reports_of_content
SELECT id, filing_id, accession, filed_at
FROM holdings_reports
WHERE cik = :cik AND sha256 = :sha256
ORDER BY accession

-- name: holdings_reports_of_filing
SELECT id, cik, period FROM holdings_reports WHERE filing_id = :filing_id

-- name: redated_holdings_reports
SELECT holdings_reports.id, holdings_reports.cik, holdings_reports.period
FROM holdings_redated
CROSS JOIN holdings_reports ON holdings_reports.id = holdings_redated.report_id
ORDER BY holdings_reports.id

-- name: delete_redated_holdings_reports
DELETE FROM holdings_redated

-- name: update_filing_of_report
UPDATE holdings_reports SET filing_id = :filing_id WHERE id = :id

-- name: update_report_from_filing
UPDATE holdings_reports
SET (accession, filed_at) = (SELECT accession, coalesce(filed_at, '') FROM filings WHERE filings.id = filing_id)
WHERE id = :id

-- name: holdings_report
SELECT cik, name, accession, filed_at, signed, period, value_total, row_value, value_unit
FROM holdings_reports
WHERE id = :id

-- name: share_holdings_of_report
SELECT value, amount, security_id FROM holdings WHERE report_id = :report_id AND kind = 0

-- name: largest_other_holders
SELECT cik, value, shares
FROM positions
WHERE security_id = :security_id AND period = :period AND kind = 0 AND cik <> :cik AND status <> 5 AND shares > 0
    AND value > 0
ORDER BY value DESC
LIMIT 25

-- name: security_names_of_report
-- SQLite returns the other columns from the row that has the min().
SELECT securities.cusip, holding_names.issuer, holding_names.title,
    min(holding_names.issuer || char(0) || holding_names.title)
FROM holdings
JOIN securities ON securities.id = holdings.security_id
JOIN holding_names ON holding_names.id = holdings.name_id
WHERE holdings.report_id = :report_id
GROUP BY securities.cusip

-- name: update_value_unit
UPDATE holdings_reports
SET value_unit = :value_unit, total_unit = :total_unit, value_unit_rule = :rule, corrected = :corrected
WHERE id = :id

-- name: reports_of_quarter
SELECT id, accession, filed_at, form, amendment_type, amendment_number, entry_total, row_count, sha256,
    value_total * total_unit AS stated
FROM holdings_reports
WHERE cik = :cik AND period = :period

-- name: holdings_of_report
SELECT holdings.kind, security_id, report_id, name_id, 1 AS row_count, amount AS shares, value * value_unit AS value,
    figi, discretion, managers, sole, shared, none
FROM holdings
JOIN holdings_reports ON holdings_reports.id = holdings.report_id
WHERE report_id = :report_id
ORDER BY seq

-- name: fund_quarter
SELECT complete, compared FROM fund_quarters WHERE cik = :cik AND period = :period

-- name: delete_fund_quarter
DELETE FROM fund_quarters WHERE cik = :cik AND period = :period

-- name: insert_fund_quarter
INSERT INTO fund_quarters (cik, period, report_id, reports, complete, compared, value, positions, options, new,
    increased, decreased, unchanged, closed, is_early, retained)
VALUES (:cik, :period, :report_id, :reports, :complete, :compared, :value, :positions, :options, :new,
    :increased, :decreased, :unchanged, :closed, :is_early, :retained)

-- name: positions_of_quarter
SELECT kind, security_id, report_id, name_id, row_count, shares, value, figi, discretion, managers, sole, shared, none,
    status, previous_shares, previous_value, flow, split_factor, split_source
FROM positions
WHERE cik = :cik AND period = :period

-- name: resplit_securities
SELECT security_id, period FROM holdings_resplit ORDER BY period, security_id LIMIT :limit

-- name: delete_resplit_security
DELETE FROM holdings_resplit WHERE security_id = ? AND period = ?

-- name: positions_to_resplit
SELECT now.cik, before.shares AS shares_before, before.value AS value_before,
    now.kind, now.security_id, now.report_id, now.name_id, now.row_count, now.shares, now.value, now.figi,
    now.discretion, now.managers, now.sole, now.shared, now.none, now.status, now.previous_shares, now.previous_value,
    now.flow, now.split_factor, now.split_source
FROM positions AS now INDEXED BY positions_by_security
JOIN positions AS before ON before.cik = now.cik AND before.period = :before AND before.kind = now.kind
    AND before.security_id = now.security_id AND before.status <> 5
WHERE now.security_id = :security_id AND now.period = :period AND now.kind IN (0, 2, 3) AND now.status <> 0
ORDER BY now.cik, now.kind

-- name: update_position_change
UPDATE positions
SET status = :status, previous_shares = :previous_shares, flow = :flow, split_factor = :split_factor,
    split_source = :split_source
WHERE cik = :cik AND period = :period AND kind = :kind AND security_id = :security_id

-- name: update_fund_quarter_counts
UPDATE fund_quarters
SET (increased, decreased, unchanged) = (
    SELECT count(*) FILTER (WHERE status = 2), count(*) FILTER (WHERE status = 3), count(*) FILTER (WHERE status = 4)
    FROM positions WHERE positions.cik = :cik AND positions.period = :period
)
WHERE cik = :cik AND period = :period

-- name: delete_positions
DELETE FROM positions WHERE cik = :cik AND period = :period

-- name: insert_positions
INSERT INTO positions (cik, period, kind, security_id, report_id, name_id, row_count, shares, value, figi, discretion,
    managers, sole, shared, none, status, previous_shares, previous_value, flow, split_factor, split_source)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: upsert_fund_groups
INSERT INTO fund_groups (sic_group, period, cik, positions)
SELECT sic_group, :period, :cik, count(*)
FROM positions
JOIN securities ON securities.id = security_id
WHERE positions.cik = :cik AND period = :period AND kind = 0 AND status <> 5 AND sic_group IS NOT NULL
GROUP BY sic_group
ON CONFLICT (sic_group, period, cik) DO UPDATE SET positions = positions + excluded.positions

-- name: upsert_security_quarters
INSERT INTO security_quarters (period, security_id, funds, shares, value, compared, compared_shares, previous_shares,
    flow, bought, sold, new, increased, decreased, unchanged, closed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (period, security_id) DO UPDATE
SET funds = funds + excluded.funds,
    shares = shares + excluded.shares,
    value = value + excluded.value,
    compared = compared + excluded.compared,
    compared_shares = compared_shares + excluded.compared_shares,
    previous_shares = previous_shares + excluded.previous_shares,
    flow = flow + excluded.flow,
    bought = bought + excluded.bought,
    sold = sold + excluded.sold,
    new = new + excluded.new,
    increased = increased + excluded.increased,
    decreased = decreased + excluded.decreased,
    unchanged = unchanged + excluded.unchanged,
    closed = closed + excluded.closed

-- name: delete_empty_security_quarters
DELETE FROM security_quarters WHERE period = ? AND security_id = ? AND funds = 0 AND closed = 0

-- name: upsert_uncounted_fund
INSERT INTO funds_uncounted (cik, period) VALUES (:cik, :period)
ON CONFLICT (cik) DO UPDATE SET period = min(period, excluded.period)

-- name: clear_group_sums
INSERT INTO group_sums (period, sums) VALUES (:period, NULL) ON CONFLICT (period) DO UPDATE SET sums = NULL
