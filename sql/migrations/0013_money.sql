-- Plans that are refilled, tokens that carry over, and every change of a wallet.

-- The part of total_limit_api that was bought or granted: it carries over, and is spent after the quota.
ALTER TABLE userplans ADD COLUMN bought INTEGER NOT NULL DEFAULT 0 CHECK (bought >= 0);

-- What the periods are counted from: a month that begins on the 31st ends on the 28th and the next on the 31st.
ALTER TABLE userplans ADD COLUMN anchor TEXT NOT NULL DEFAULT '';
UPDATE userplans SET anchor = created_at;

CREATE INDEX userplans_due ON userplans (current_period_end);

-- The wallet is the sum of its rows, as a balance is of the ledger's.
CREATE TABLE wallet (
    id         INTEGER PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    cents      INTEGER NOT NULL,
    reason     TEXT NOT NULL CHECK (reason IN ('credit', 'purchase')),
    tokens     INTEGER NOT NULL CHECK (tokens >= 0),
    created_at TEXT NOT NULL
) STRICT;

CREATE INDEX wallet_by_user ON wallet (user_id, id);

INSERT INTO wallet (user_id, cents, reason, tokens, created_at)
SELECT id, credit_cents, 'credit', 0, updated_at FROM users WHERE credit_cents > 0;
