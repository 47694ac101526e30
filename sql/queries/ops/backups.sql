-- name: new_data_stamp
-- Answers that callers hold are of a version that will be given out again, of other data.
UPDATE data_version SET stamp = hex(randomblob(8))
