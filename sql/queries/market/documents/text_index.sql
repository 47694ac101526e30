-- name: is_text_indexed
SELECT EXISTS (SELECT 1 FROM filing_texts WHERE filing_id = :filing_id)

-- name: indexed_characters
SELECT characters FROM filing_bodies_size

-- name: insert_text
INSERT INTO filing_texts (filing_id, place, characters, packed) VALUES (:filing_id, :place, :characters, :packed)

-- name: indexed_text
SELECT place, packed FROM filing_texts WHERE filing_id = :filing_id

-- name: update_text_rowid
UPDATE filing_texts SET place = :place WHERE filing_id = :filing_id

-- name: insert_words
INSERT INTO filing_words (rowid, text) VALUES (:place, :text)

-- name: delete_words
INSERT INTO filing_words (filing_words, rowid, text) VALUES ('delete', :place, :text)
