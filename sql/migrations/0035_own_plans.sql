-- Plans of the operator's own, and accounts that were deleted: their row stays for the ledger, and names nobody.
ALTER TABLE users ADD COLUMN deleted_at TEXT;

CREATE TABLE userplans_of_any_plan (
    id                 INTEGER PRIMARY KEY,
    user_id            INTEGER NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    plan               TEXT NOT NULL CHECK (plan <> ''),
    status             TEXT NOT NULL DEFAULT 'active',
    total_limit_api    INTEGER NOT NULL CHECK (total_limit_api >= 0),
    reach_limit_api    INTEGER NOT NULL DEFAULT 0 CHECK (reach_limit_api >= 0),
    current_period_end TEXT NOT NULL,
    created_at         TEXT NOT NULL,
    updated_at         TEXT NOT NULL,
    bought             INTEGER NOT NULL DEFAULT 0 CHECK (bought >= 0),
    anchor             TEXT NOT NULL DEFAULT '',
    CHECK (reach_limit_api <= total_limit_api)
) STRICT;
INSERT INTO userplans_of_any_plan (id, user_id, plan, status, total_limit_api, reach_limit_api, current_period_end,
    created_at, updated_at, bought, anchor)
SELECT id, user_id, plan, status, total_limit_api, reach_limit_api, current_period_end, created_at, updated_at, bought,
    anchor
FROM userplans;
DROP TABLE userplans;
ALTER TABLE userplans_of_any_plan RENAME TO userplans;
CREATE INDEX userplans_due ON userplans (current_period_end);
