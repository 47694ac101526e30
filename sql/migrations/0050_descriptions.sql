-- A filing stands under its description too ('dANNUAL REPORT') where that is more than its form: lists are searched by it.
-- Each is counted, so that those that are held can be listed.
DROP TRIGGER filing_terms_added;
DROP TRIGGER filing_terms_removed;
CREATE TRIGGER filing_terms_added AFTER INSERT ON filing_terms
WHEN NEW.term = '' OR (NEW.term >= 'd' AND NEW.term < 'e') OR (NEW.term >= 'f' AND NEW.term < 'g') BEGIN
    INSERT INTO term_counts VALUES (NEW.term, 1) ON CONFLICT (term) DO UPDATE SET filings = filings + 1;
END;
CREATE TRIGGER filing_terms_removed AFTER DELETE ON filing_terms
WHEN OLD.term = '' OR (OLD.term >= 'd' AND OLD.term < 'e') OR (OLD.term >= 'f' AND OLD.term < 'g') BEGIN
    UPDATE term_counts SET filings = filings - 1 WHERE term = OLD.term;
    DELETE FROM term_counts WHERE term = OLD.term AND filings = 0;
END;
INSERT INTO filing_terms
SELECT 'd' || description, coalesce(filed_at, ''), CAST(replace(accession, '-', '') AS INTEGER)
FROM filings
WHERE description IS NOT NULL AND description <> '' AND description IS NOT form AND accession NOT GLOB 'unfiled-*'
ORDER BY 1, 2, 3;
