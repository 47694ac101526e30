-- What accounts cannot be told is tried a few times and put aside with the reason: it holds up nothing behind it.
ALTER TABLE outbox ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN reason TEXT;
ALTER TABLE outbox ADD COLUMN aside INTEGER NOT NULL DEFAULT 0 CHECK (aside IN (0, 1));
CREATE INDEX outbox_waiting ON outbox (id) WHERE aside = 0;
CREATE INDEX outbox_aside ON outbox (noted_at) WHERE aside = 1;
