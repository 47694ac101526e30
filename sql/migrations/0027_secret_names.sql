-- Which master secret made a credential, by its name: '' when none that is known did, NULL when nobody has looked yet.
-- What a secret made that is gone is refused.
ALTER TABLE api_keys ADD COLUMN made_with TEXT;
ALTER TABLE api_keys ADD COLUMN refused INTEGER NOT NULL DEFAULT 0 CHECK (refused IN (0, 1));
ALTER TABLE webhook_secrets ADD COLUMN made_with TEXT;
ALTER TABLE webhook_secrets ADD COLUMN refused INTEGER NOT NULL DEFAULT 0 CHECK (refused IN (0, 1));
ALTER TABLE invites ADD COLUMN made_with TEXT;

CREATE INDEX api_keys_by_secret ON api_keys (refused, made_with);
CREATE INDEX webhook_secrets_by_secret ON webhook_secrets (refused, made_with);
CREATE INDEX invites_by_secret ON invites (made_with) WHERE used_at IS NULL AND revoked_at IS NULL;

-- Since when a delivery waits for a secret to be signed with.
ALTER TABLE deliveries ADD COLUMN held_at TEXT;
CREATE INDEX deliveries_held ON deliveries (user_id) WHERE held_at IS NOT NULL;
CREATE INDEX deliveries_held_since ON deliveries (held_at) WHERE held_at IS NOT NULL;
