-- name: is_text_indexed
SELECT EXISTS (SELECT 1 FROM filing_texts WHERE body_id = :body_id)

-- name: indexed_characters
SELECT characters FROM filing_bodies_size

-- name: insert_text
INSERT INTO filing_texts (body_id, place, characters, packed) VALUES (:body_id, :place, :characters, :packed)

-- name: indexed_texts
SELECT filing_texts.body_id, filing_texts.place, filing_texts.packed
FROM filing_bodies
JOIN filing_texts ON filing_texts.body_id = filing_bodies.id
WHERE filing_bodies.filing_id = :filing_id

-- name: update_text_rowid
UPDATE filing_texts SET place = :place WHERE body_id = :body_id

-- name: insert_words
INSERT INTO filing_words (rowid, text) VALUES (:place, :text)

-- name: delete_words
INSERT INTO filing_words (filing_words, rowid, text) VALUES ('delete', :place, :text)
