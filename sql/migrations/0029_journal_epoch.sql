-- The epoch of the journal: numbers are compared within one only. A database that is put back from a backup begins
-- another, because it gives numbers out again that readers have seen with other events.
CREATE TABLE journal (epoch INTEGER NOT NULL CHECK (epoch > 0)) STRICT;
INSERT INTO journal VALUES (1);
-- The last number that the epoch before this one shares with it.
ALTER TABLE feeds ADD COLUMN epoch_seq INTEGER NOT NULL DEFAULT 0 CHECK (epoch_seq >= 0);
