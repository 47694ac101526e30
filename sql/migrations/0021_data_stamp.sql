-- Two stores that once were one may count to the same version and hold other data: the stamp is never the same.
ALTER TABLE data_version ADD COLUMN stamp TEXT NOT NULL DEFAULT '';
UPDATE data_version SET stamp = hex(randomblob(8));
