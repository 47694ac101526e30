-- name: book_filings
SELECT fact_sets.id, fact_sets.source, filings.accession, coalesce(filings.form, reports.form) AS form,
    filings.filed_at, coalesce(reports.fiscal_year, fact_sets.fiscal_year) AS fiscal_year, reports.fiscal_period, reports.period_of_report
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id
LEFT JOIN reports ON reports.id = fact_sets.report_id
WHERE fact_sets.cik = :cik AND (:as_of IS NULL OR filings.filed_at <= :as_of)
ORDER BY fact_sets.id

-- name: newest_book_day
SELECT max(filings.filed_at)
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id
WHERE fact_sets.cik = :cik AND filings.filed_at <= :as_of

-- name: book_standard_concepts
SELECT id FROM concepts WHERE name IN (SELECT value FROM json_each(:names))

-- name: book_custom_concepts
-- The concepts of facts without dimensions; the caller selects the custom ones among them.
SELECT id, name
FROM concepts
WHERE id IN (
    SELECT facts.concept_id
    FROM fact_sets
    JOIN facts ON facts.fact_set_id = fact_sets.id AND facts.dimension_id = fact_sets.whole
    WHERE fact_sets.id IN (SELECT value FROM json_each(:sets)) AND facts.hidden = 0 AND facts.unit_id <> 0
)

-- name: book_faces
-- The lines and headings of the statements that filings present, page by page. The key is the index of the set of facts in :sets.
SELECT json_each.key, sections.id, sections.kind, concepts.name, lines.label, lines.balance, lines.nature, lines.depth, lines.negated
FROM json_each(:sets)
CROSS JOIN fact_sets ON fact_sets.id = json_each.value
CROSS JOIN sections ON sections.report_id = fact_sets.report_id AND sections.kind IN (SELECT value FROM json_each(:kinds))
CROSS JOIN lines ON lines.section_id = sections.id AND lines.nature IN (0, 1)
JOIN concepts ON concepts.id = lines.concept_id
ORDER BY json_each.key, sections.seq, lines.seq

-- name: book_sums
-- The sums of the calculation linkbases of these filings on their statements.
SELECT json_each.key, total.name, item.name, sums.weight
FROM json_each(:sets)
CROSS JOIN fact_sets ON fact_sets.id = json_each.value
CROSS JOIN sections ON sections.report_id = fact_sets.report_id AND sections.kind IN (SELECT value FROM json_each(:kinds))
CROSS JOIN sums ON sums.section_id = sections.id
JOIN concepts AS total ON total.id = sums.total_id
JOIN concepts AS item ON item.id = sums.item_id

-- name: book_facts
-- The key is the index of the set of facts in :sets. The plus makes SQLite read each set in one pass: hundreds of
-- searches by concept in each of a hundred sets take twice as long. Days outside :first and :last are filers' errors.
SELECT concepts.name, units.name, facts.end_day, facts.days, facts.value, facts.decimals, json_each.key
FROM json_each(:sets)
CROSS JOIN fact_sets ON fact_sets.id = json_each.value
CROSS JOIN facts ON facts.fact_set_id = fact_sets.id AND facts.dimension_id = fact_sets.whole
    AND +facts.concept_id IN (SELECT value FROM json_each(:concepts))
JOIN concepts ON concepts.id = facts.concept_id
JOIN units ON units.id = facts.unit_id
WHERE facts.hidden = 0 AND facts.unit_id <> 0 AND facts.end_day - facts.days >= :first AND facts.end_day <= :last

-- name: book_line_values
-- The values of the lines of income and cash flow statements. The key is the index of the set of facts in :sets.
SELECT json_each.key, sections.id, concepts.name, lines.negated, facts.end_day, facts.days, facts.value
FROM json_each(:sets)
CROSS JOIN fact_sets ON fact_sets.id = json_each.value
CROSS JOIN sections ON sections.report_id = fact_sets.report_id AND sections.kind IN ('cash-flow', 'income')
CROSS JOIN lines ON lines.section_id = sections.id AND lines.nature = 0
CROSS JOIN facts ON facts.fact_set_id = fact_sets.id AND facts.dimension_id = fact_sets.whole
    AND facts.concept_id = lines.concept_id AND facts.hidden = 0
JOIN concepts ON concepts.id = lines.concept_id
JOIN units ON units.id = facts.unit_id AND units.name = :currency
WHERE facts.value IS NOT NULL AND facts.days > 0
ORDER BY CAST(json_each.key AS INTEGER), sections.seq, lines.seq

-- name: book_class_facts
-- The facts of some concepts with dimensions that begin with a class of shares. The key is the index of the set of facts in :sets.
SELECT dimensions.members, json_each.key, concepts.name, units.name, facts.end_day, facts.days, facts.value, facts.decimals
FROM json_each(:sets)
CROSS JOIN facts ON facts.fact_set_id = json_each.value AND facts.dimension_id >= 1
    AND +facts.concept_id IN (SELECT id FROM concepts WHERE name IN (SELECT value FROM json_each(:concepts)))
JOIN dimensions ON dimensions.id = facts.dimension_id AND dimensions.members LIKE '{"%Class%Axis":"%'
JOIN concepts ON concepts.id = facts.concept_id
JOIN units ON units.id = facts.unit_id
WHERE facts.hidden = 0 AND facts.unit_id <> 0 AND facts.end_day - facts.days >= :first AND facts.end_day <= :last
ORDER BY CAST(json_each.key AS INTEGER), dimensions.members

-- name: book_conflicts
-- The facts that a filing also states with other values. The key is the index of the set of facts in :sets.
SELECT DISTINCT json_each.key, concepts.name, facts.value
FROM json_each(:sets)
CROSS JOIN fact_sets ON fact_sets.id = json_each.value
CROSS JOIN fact_conflicts ON fact_conflicts.fact_set_id = fact_sets.id AND fact_conflicts.dimension_id = fact_sets.whole
CROSS JOIN facts USING (fact_set_id, dimension_id, concept_id, end_day, days, unit_id)
JOIN concepts ON concepts.id = facts.concept_id
WHERE facts.hidden = 0 AND facts.value IS NOT NULL

-- name: book_company
SELECT sic, fiscal_year_end FROM companies WHERE cik = :cik

-- name: stored_book
SELECT kept_books.book
FROM kept_books
JOIN latest_years ON latest_years.cik = kept_books.cik AND latest_years.stamp = kept_books.made_of
WHERE kept_books.cik = :cik AND kept_books.made_by = :rules

-- name: book_stamp
SELECT stamp FROM latest_years WHERE cik = :cik

-- name: book_companies
SELECT cik FROM latest_years WHERE EXISTS (SELECT 1 FROM fact_sets WHERE fact_sets.cik = latest_years.cik) ORDER BY cik

-- name: member_labels
-- The labels of members in the reports of some filings, in the order of :accessions.
SELECT concepts.name AS member, lines.label
FROM json_each(:accessions)
CROSS JOIN filings ON filings.accession = json_each.value
CROSS JOIN reports ON reports.filing_id = filings.id
CROSS JOIN sections ON sections.report_id = reports.id
CROSS JOIN lines ON lines.section_id = sections.id AND lines.nature = 2 AND lines.label IS NOT NULL
JOIN concepts ON concepts.id = lines.concept_id AND concepts.name IN (SELECT value FROM json_each(:members))
ORDER BY json_each.key, reports.id, sections.seq, lines.seq

-- name: book_dimensioned_facts
-- The facts of some concepts with their dimensions. With :min_dimension_id 0 instead of 1 also those without dimensions, as on
-- cover pages. The key is the index of the set of facts in :sets.
SELECT concepts.name AS concept, units.name AS unit, facts.end_day, facts.days, facts.value, facts.decimals,
    json_each.key AS filing_index, dimensions.members
FROM json_each(:sets)
CROSS JOIN facts ON facts.fact_set_id = json_each.value AND facts.dimension_id >= :min_dimension_id
    AND facts.concept_id IN (SELECT id FROM concepts WHERE name IN (SELECT value FROM json_each(:concepts)))
JOIN concepts ON concepts.id = facts.concept_id
JOIN units ON units.id = facts.unit_id
JOIN dimensions ON dimensions.id = facts.dimension_id
WHERE facts.hidden = 0
