-- name: data_version
SELECT version FROM data_version

-- name: data_stamp
SELECT stamp FROM data_version

-- name: bump_data_version
UPDATE data_version SET version = version + 1, stamp = hex(randomblob(8))

-- name: filings_with_content
SELECT filings.id, filings.accession, filings.filed_at
FROM reports
JOIN filings ON filings.id = reports.filing_id
WHERE reports.cik = :cik AND reports.sha256 = :sha256
ORDER BY filings.accession

-- name: update_reports_filing
UPDATE reports SET filing_id = :filing_id WHERE filing_id = :unfiled_id

-- name: insert_report
INSERT INTO reports (filing_id, cik, sha256, form, period_of_report, fiscal_year, fiscal_period, statements, documents,
    source, pages)
VALUES (:filing_id, :cik, :sha256, :form, :period_of_report, :fiscal_year, :fiscal_period, :statements, :documents, :source,
    :pages)

-- name: concept_ids
SELECT name, id FROM concepts WHERE name IN (SELECT value FROM json_each(:names))

-- name: insert_concepts
INSERT INTO concepts (name) VALUES (?)

-- name: unit_ids
SELECT name, id FROM units WHERE name IN (SELECT value FROM json_each(:names))

-- name: insert_units
INSERT INTO units (name) VALUES (?)

-- name: dimension_ids
SELECT members, id FROM dimensions WHERE members IN (SELECT value FROM json_each(:names))

-- name: insert_dimensions
INSERT INTO dimensions (members) VALUES (?)

-- name: label_role_ids
SELECT uri, id FROM label_roles WHERE uri IN (SELECT value FROM json_each(:names))

-- name: insert_label_roles
INSERT INTO label_roles (uri) VALUES (?)

-- name: next_section_id
SELECT coalesce(max(id), 0) + 1 FROM sections

-- name: insert_sections
INSERT INTO sections (id, report_id, seq, role_uri, definition, kind) VALUES (?, ?, ?, ?, ?, ?)

-- name: insert_lines
INSERT INTO lines (section_id, seq, concept_id, label_role_id, depth, nature, label, placement, negated, balance)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_columns
INSERT INTO section_columns (section_id, seq, dimension_id, context_seq, start_date, end_date)
VALUES (?, ?, ?, ?, ?, ?)

-- name: insert_sums
INSERT INTO sums (section_id, total_id, seq, item_id, weight) VALUES (?, ?, ?, ?, ?)
