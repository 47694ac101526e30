-- name: insert_fact_set
INSERT INTO fact_sets (filing_id, cik, source, report_id) VALUES (:filing_id, :cik, :source, :report_id)

-- name: insert_fact_sets_of_company
INSERT INTO fact_sets (cik, source, fiscal_year, filing_id)
SELECT ?, ?, ?, id FROM filings WHERE accession = ?

-- name: insert_facts
INSERT INTO facts (fact_set_id, dimension_id, concept_id, end_day, days, unit_id, value, decimals)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_fact_elements
INSERT INTO fact_elements (fact_set_id, dimension_id, concept_id, end_day, days, unit_id, page, element_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_fact_conflicts
INSERT INTO fact_conflicts (fact_set_id, dimension_id, concept_id, end_day, days, unit_id, seq, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: upsert_facts
-- If two copies differ, the longer text is less rounded. The rule must not depend on which copy was stored first.
INSERT INTO facts (fact_set_id, dimension_id, concept_id, end_day, days, unit_id, value)
VALUES (?, 0, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET value = excluded.value
WHERE (length(excluded.value), excluded.value) > (length(facts.value), facts.value)

-- name: fact_sets_of_company
SELECT filings.accession, fact_sets.id
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id
WHERE fact_sets.cik = :cik AND fact_sets.source = :source

-- name: fact_sets_of_same_filing
-- The sets of the same filing and company, the best first: XBRL documents before the other sources, and of several
-- sets of documents the one with the most documents.
SELECT candidate.id, candidate.source
FROM fact_sets AS given
JOIN fact_sets AS candidate ON candidate.filing_id = given.filing_id AND candidate.cik = given.cik
LEFT JOIN reports ON reports.id = candidate.report_id
WHERE given.id = :id
ORDER BY candidate.source, reports.documents DESC, reports.sha256 DESC

-- name: update_facts_hidden
UPDATE facts SET hidden = :hidden WHERE fact_set_id = :id AND hidden <> :hidden

-- name: update_repeated_facts_hidden
-- Hide the facts of a data set that companyfacts reports too. The data sets round an end to the nearest month end and a
-- length to quarters, and may give the unit of a per-share figure as the currency alone.
UPDATE facts SET hidden = 1
WHERE fact_set_id = :id AND dimension_id = 0 AND EXISTS (
    SELECT 1
    FROM facts AS exact
    JOIN units AS exact_unit ON exact_unit.id = exact.unit_id
    JOIN units AS rounded_unit ON rounded_unit.id = facts.unit_id
    WHERE exact.fact_set_id = :better_id
        AND exact.dimension_id = 0
        AND exact.concept_id = facts.concept_id
        AND exact.end_day BETWEEN facts.end_day - 16 AND facts.end_day + 16
        AND (exact.days = 0) = (facts.days = 0)
        AND abs(exact.days - facts.days) <= 46
        AND (exact_unit.name = rounded_unit.name OR exact_unit.name GLOB rounded_unit.name || '/*')
)

-- name: update_fact_set_counts
UPDATE fact_sets SET (facts, shown) = (
    SELECT count(*), count(*) FILTER (WHERE dimension_id = 0 AND hidden = 0) FROM facts WHERE fact_set_id = :id
)
WHERE id = :id

-- name: update_counts_of_fact_sets
UPDATE fact_sets SET (facts, shown) = (
    SELECT count(*), count(*) FILTER (WHERE dimension_id = 0 AND hidden = 0) FROM facts WHERE fact_set_id = fact_sets.id
)
WHERE id IN (SELECT value FROM json_each(:ids))

-- name: fact_sets_with_other_sources
-- Those sets whose filing and company have another set.
SELECT given.id
FROM json_each(:ids) AS given_id
CROSS JOIN fact_sets AS given ON given.id = given_id.value
WHERE EXISTS (
    SELECT 1 FROM fact_sets AS other
    WHERE other.filing_id = given.filing_id AND other.cik = given.cik AND other.id <> given.id
)

-- name: update_company_facts_changed
UPDATE companies SET facts_changed = facts_changed + 1 WHERE cik = :cik

-- name: update_fact_sets_filing
UPDATE fact_sets SET filing_id = :filing_id WHERE filing_id = :unfiled_id

-- name: fact_sets_of_filing_id
SELECT id FROM fact_sets WHERE filing_id = :filing_id ORDER BY id

-- name: update_fact_set_fiscal_year
-- If two copies differ, the later year is stored, whichever copy was stored first.
UPDATE fact_sets SET fiscal_year = ?
WHERE id = ? AND (fiscal_year IS NULL OR fiscal_year < ?)

-- name: update_fact_set_whole
-- If nothing is reported without dimensions, the column of the parent company, the successor company or of totals
-- stands for the complete company.
UPDATE fact_sets
SET whole = coalesce((
    SELECT facts.dimension_id
    FROM facts
    JOIN dimensions ON dimensions.id = facts.dimension_id
    CROSS JOIN json_each(dimensions.members) AS pair
    WHERE facts.fact_set_id = fact_sets.id
        AND facts.unit_id <> 0
        AND json(dimensions.members) = json_object(pair.key, pair.value)
        AND replace(substr(pair.value, instr(pair.value, ':') + 1), 'Member', '')
            IN ('ParentCompany', 'SuccessorCompany', 'Successor', 'SegmentConsolidated', 'Consolidated')
    GROUP BY facts.dimension_id
    ORDER BY count(*) DESC, facts.dimension_id
    LIMIT 1
), 0)
WHERE id = :id AND NOT EXISTS (
    SELECT 1
    FROM facts
    JOIN concepts ON concepts.id = facts.concept_id
    WHERE facts.fact_set_id = fact_sets.id
        AND facts.dimension_id = 0
        AND facts.unit_id <> 0
        AND concepts.name NOT GLOB 'dei:*'
)
