-- name: new_data_stamp
-- Without a new stamp, responses that callers have cached would be valid for other data with the same version.
UPDATE data_version SET stamp = hex(randomblob(8))
