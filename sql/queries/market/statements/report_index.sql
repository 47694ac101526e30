-- name: report_sections
SELECT seq, role_uri, definition, kind,
    EXISTS (SELECT 1 FROM section_columns WHERE section_columns.section_id = sections.id) AS has_columns
FROM sections
WHERE report_id = :report_id
ORDER BY seq
