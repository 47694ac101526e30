-- name: pack_reports
SELECT reports.id, reports.cik, filings.accession, filings.filed_at, filings.accepted_at,
    filings.form AS filing_form, filings.period_of_report AS filing_period, companies.name, reports.form,
    reports.period_of_report, reports.fiscal_year, reports.fiscal_period, reports.source, reports.sha256,
    reports.documents, reports.pages
FROM reports
JOIN filings ON filings.id = reports.filing_id
JOIN companies ON companies.cik = reports.cik
ORDER BY filings.accession, reports.sha256

-- name: pack_tickers
SELECT ticker FROM tickers WHERE cik = :cik ORDER BY source DESC, last_seen DESC, position, ticker

-- name: pack_facts
SELECT concepts.name AS concept,
    CASE WHEN facts.days > 0 THEN date((facts.end_day - facts.days + 1) * 86400, 'unixepoch') END AS start_date,
    date(facts.end_day * 86400, 'unixepoch') AS end_date,
    dimensions.members, units.name AS unit, facts.value, facts.decimals, fact_elements.element_id, fact_elements.page
FROM fact_sets
JOIN facts ON facts.fact_set_id = fact_sets.id
LEFT JOIN fact_elements USING (fact_set_id, dimension_id, concept_id, end_day, days, unit_id)
JOIN concepts ON concepts.id = facts.concept_id
JOIN units ON units.id = facts.unit_id
JOIN dimensions ON dimensions.id = facts.dimension_id
WHERE fact_sets.report_id = :report_id
ORDER BY dimensions.members, facts.end_day, facts.days, concepts.name, units.name

-- name: pack_fact_conflicts
-- The further values of facts, with the position of each fact among the rows of pack_facts.
WITH positions AS (
    SELECT facts.fact_set_id, facts.dimension_id, facts.concept_id, facts.end_day, facts.days, facts.unit_id,
        row_number() OVER (
            ORDER BY dimensions.members, facts.end_day, facts.days, concepts.name, units.name
        ) - 1 AS position
    FROM fact_sets
    JOIN facts ON facts.fact_set_id = fact_sets.id
    JOIN concepts ON concepts.id = facts.concept_id
    JOIN units ON units.id = facts.unit_id
    JOIN dimensions ON dimensions.id = facts.dimension_id
    WHERE fact_sets.report_id = :report_id
)
SELECT positions.position, fact_conflicts.value
FROM positions
JOIN fact_conflicts USING (fact_set_id, dimension_id, concept_id, end_day, days, unit_id)
ORDER BY fact_conflicts.seq

-- name: pack_sections
SELECT id, role_uri, definition, kind FROM sections WHERE report_id = :report_id ORDER BY seq

-- name: pack_lines
SELECT concepts.name AS concept, lines.depth, lines.nature, lines.label, label_roles.uri AS label_role,
    lines.placement, lines.negated, lines.balance
FROM lines
JOIN concepts ON concepts.id = lines.concept_id
LEFT JOIN label_roles ON label_roles.id = lines.label_role_id
WHERE lines.section_id = :section_id
ORDER BY lines.seq

-- name: section_sums
SELECT total.name AS total, item.name AS item, sums.weight
FROM sums
JOIN concepts AS total ON total.id = sums.total_id
JOIN concepts AS item ON item.id = sums.item_id
WHERE sums.section_id = :section_id
ORDER BY sums.seq
