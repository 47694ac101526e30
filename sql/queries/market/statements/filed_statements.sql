-- part: not_replaced_by_own_documents
-- A report of the data sets is ignored if the filing's own XBRL documents are stored.
NOT (reports.source = 'fsds' AND EXISTS (
    SELECT 1
    FROM reports AS own_documents
    WHERE own_documents.filing_id = reports.filing_id
        AND own_documents.cik = reports.cik
        AND own_documents.source = 'xbrl'
        AND own_documents.statements > 0
))

-- name: reports_of_latest_periods
-- The reports for the latest periods, newest period first.
--
-- The reports for one period come in the order in which they count: the last filing first, or the first one (basis). An
-- amendment was filed after an original of the same day, or if neither day is known. A filing of unknown day comes last
-- and is invisible to as_of. If a filing was ingested twice, only the larger set of documents is returned. Periods are
-- compared by the nearest month end, because the data sets round them to it. The fiscal year of a period is that of its
-- original: an amendment may state none.
WITH matching AS (
    SELECT reports.id, reports.cik, filings.accession, filings.filed_at, reports.form AS form_type,
        reports.period_of_report, reports.fiscal_year, reports.fiscal_period, reports.source, reports.pages,
        date(reports.period_of_report, '+15 days', 'start of month', '-1 day') AS month_end,
        reports.form LIKE '%/A' AS is_amendment, reports.documents, reports.sha256
    FROM reports
    JOIN filings ON filings.id = reports.filing_id
    WHERE reports.cik = :cik
        AND reports.statements > 0
        AND reports.form IN (SELECT value FROM json_each(:forms))
        AND (:as_of IS NULL OR filings.filed_at <= :as_of)
        AND {not_replaced_by_own_documents}
),
with_years AS (
    SELECT *,
        first_value(coalesce(fiscal_year, CAST(substr(period_of_report, 1, 4) AS INTEGER))) OVER (
            PARTITION BY month_end
            ORDER BY fiscal_year IS NULL, is_amendment, filed_at IS NULL, filed_at, accession
        ) AS year_of_period
    FROM matching
),
ranked AS (
    SELECT *,
        dense_rank() OVER (ORDER BY month_end DESC) AS period_rank,
        row_number() OVER (PARTITION BY month_end, accession ORDER BY documents DESC, sha256 DESC) AS rank_in_filing
    FROM with_years
    WHERE :year IS NULL OR year_of_period = :year
)
SELECT id, cik, accession, filed_at, form_type, period_of_report, fiscal_year, fiscal_period, source, pages, month_end
FROM ranked
WHERE period_rank <= :limit AND rank_in_filing = 1
ORDER BY month_end DESC,
    filed_at IS NULL,
    CASE :basis WHEN 'original' THEN filed_at END,
    CASE :basis WHEN 'latest' THEN filed_at END DESC,
    CASE :basis WHEN 'original' THEN is_amendment ELSE NOT is_amendment END,
    CASE :basis WHEN 'original' THEN accession END,
    CASE :basis WHEN 'latest' THEN accession END DESC

-- name: report_of_filing
SELECT reports.id, reports.cik, filings.accession, filings.filed_at, reports.form AS form_type, reports.period_of_report,
    reports.fiscal_year, reports.fiscal_period, reports.source, reports.pages
FROM reports
JOIN filings ON filings.id = reports.filing_id
WHERE filings.accession = :accession
ORDER BY reports.cik = filings.cik DESC, reports.statements > 0 DESC, reports.source = 'fsds', reports.documents DESC, reports.sha256 DESC
LIMIT 1

-- name: stored_periods
SELECT DISTINCT reports.form AS form_type, reports.period_of_report
FROM reports
JOIN filings ON filings.id = reports.filing_id
WHERE reports.cik = :cik AND reports.statements > 0
    AND {not_replaced_by_own_documents}
ORDER BY reports.period_of_report DESC, reports.form
LIMIT 20

-- name: consolidated_dimension
-- The dimension that stands for the complete company; no row if the report has facts without dimensions.
SELECT dimensions.id, dimensions.members
FROM fact_sets
JOIN dimensions ON dimensions.id = fact_sets.whole
WHERE fact_sets.report_id = :report_id AND fact_sets.whole <> 0

-- name: statement_sections
SELECT id, seq, role_uri, definition, kind,
    EXISTS (SELECT 1 FROM section_columns WHERE section_columns.section_id = sections.id) AS has_columns
FROM sections
WHERE report_id = :report_id AND kind IS NOT NULL
ORDER BY seq

-- name: statement_lines
SELECT lines.seq, lines.concept_id, concepts.name AS concept, lines.depth, lines.nature, lines.label,
    label_roles.uri AS preferred_label, lines.placement, lines.negated, lines.balance
FROM lines
JOIN concepts ON concepts.id = lines.concept_id
LEFT JOIN label_roles ON label_roles.id = lines.label_role_id
WHERE lines.section_id = :section_id AND lines.nature < 2
ORDER BY lines.seq

-- name: statement_columns
SELECT section_columns.context_seq, iif(section_columns.start_date IS NULL, 'I', 'D') AS period_type,
    section_columns.start_date, section_columns.end_date, section_columns.dimension_id, dimensions.members
FROM section_columns
JOIN dimensions ON dimensions.id = section_columns.dimension_id
WHERE section_columns.section_id = :section_id AND (:dimensioned OR section_columns.dimension_id = :whole)
ORDER BY section_columns.seq

-- name: statement_facts
SELECT facts.concept_id,
    CASE WHEN facts.days > 0 THEN date((facts.end_day - facts.days + 1) * 86400, 'unixepoch') END AS start_date,
    date(facts.end_day * 86400, 'unixepoch') AS end_date,
    facts.dimension_id, units.name AS unit, facts.value, facts.decimals, fact_elements.element_id, fact_elements.page
FROM fact_sets
JOIN facts ON facts.fact_set_id = fact_sets.id
LEFT JOIN fact_elements USING (fact_set_id, dimension_id, concept_id, end_day, days, unit_id)
JOIN units ON units.id = facts.unit_id
WHERE fact_sets.report_id = :report_id
    AND facts.concept_id IN (SELECT concept_id FROM lines WHERE section_id = :section_id AND nature = 0)
    AND (:dimensioned OR facts.dimension_id = :whole)

-- name: conflicts_of_statement
-- The further values of the facts in a section, in the order of the document.
SELECT fact_conflicts.concept_id,
    CASE WHEN fact_conflicts.days > 0
        THEN date((fact_conflicts.end_day - fact_conflicts.days + 1) * 86400, 'unixepoch')
    END AS start_date,
    date(fact_conflicts.end_day * 86400, 'unixepoch') AS end_date,
    fact_conflicts.dimension_id, units.name AS unit, fact_conflicts.value
FROM fact_sets
JOIN fact_conflicts ON fact_conflicts.fact_set_id = fact_sets.id
JOIN units ON units.id = fact_conflicts.unit_id
WHERE fact_sets.report_id = :report_id
    AND fact_conflicts.concept_id IN (SELECT concept_id FROM lines WHERE section_id = :section_id AND nature = 0)
    AND (:dimensioned OR fact_conflicts.dimension_id = :whole)
ORDER BY fact_conflicts.seq
