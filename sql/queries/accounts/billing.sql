-- name: take_tokens
UPDATE userplans
SET reach_limit_api = reach_limit_api + :cost, updated_at = :now
WHERE user_id = :user_id AND total_limit_api - reach_limit_api >= :cost

-- name: refund_tokens
-- If the period began after the debit, less may be spent than is refunded: the rest is added to the bought tokens.
UPDATE userplans
SET total_limit_api = total_limit_api + max(0, :cost - reach_limit_api),
    bought = bought + max(0, :cost - reach_limit_api),
    reach_limit_api = max(0, reach_limit_api - :cost),
    updated_at = :now
WHERE user_id = :user_id

-- name: insert_ledger_row
INSERT INTO ledger (user_id, delta, reason, endpoint, request_id, status, open, created_at)
VALUES (:user_id, :delta, :reason, :endpoint, :request_id, :status, :open, :now)

-- name: close_debit
UPDATE ledger SET open = 0, status = :status WHERE id = :id AND open = 1

-- name: settle_debit
UPDATE ledger SET open = 0, status = 200 WHERE id = ? AND open = 1

-- name: open_debits
-- :after is a value and not a subquery, so that PostgreSQL knows that few rows follow it.
SELECT id, user_id, -delta AS cost, endpoint, request_id FROM ledger
WHERE id > :after AND open = 1 AND created_at < :before
LIMIT :limit

-- name: open_debits_by_account
SELECT users.email AS account, ledger.endpoint, ledger.request_id, -ledger.delta AS tokens, ledger.created_at
FROM ledger
JOIN users ON users.id = ledger.user_id
WHERE ledger.id > :after AND ledger.open = 1
ORDER BY ledger.id

-- name: overlooked_debits
SELECT ledger.id, -ledger.delta AS cost, ledger.endpoint, ledger_summed.closed_to
FROM ledger_summed
JOIN ledger ON ledger.id <= ledger_summed.closed_to
WHERE ledger.open = 1
ORDER BY ledger.id

-- name: ledger_rows
-- Only rows of calls have an endpoint: purchases, grants and refills do not.
SELECT id, created_at, delta, reason, endpoint, request_id, status AS response_status,
    CASE WHEN endpoint IS NOT NULL THEN abs(delta) END AS cost_tier
FROM ledger
WHERE user_id = :user_id AND (:before IS NULL OR id < :before)
ORDER BY id DESC
LIMIT :limit OFFSET :offset

-- name: unsummed
-- The last row that is summed, the last one up to which no debit is open, and the last one.
SELECT last_id AS summed, closed_to, (SELECT max(id) FROM ledger) AS last_id FROM ledger_summed

-- name: sum_ledger_rows
INSERT INTO ledger_days (user_id, day, endpoint, tokens, calls)
SELECT user_id, substr(created_at, 1, 10) AS day, endpoint, -sum(delta), count(*) FILTER (WHERE reason = 'debit')
FROM ledger
WHERE id > :summed AND id <= :to AND endpoint IS NOT NULL
GROUP BY user_id, day, endpoint
ON CONFLICT (user_id, day, endpoint) DO UPDATE
SET tokens = ledger_days.tokens + excluded.tokens, calls = ledger_days.calls + excluded.calls

-- name: update_summed
UPDATE ledger_summed SET last_id = :to

-- name: update_closed_to
-- Move closed_to to the last row before the first open debit. No debit up to :after is open; rows up to :to are read.
UPDATE ledger_summed SET closed_to = max(closed_to, coalesce(
    (SELECT min(id) - 1 FROM ledger WHERE id > :after AND id <= :to AND open = 1),
    min(:to, (SELECT max(id) FROM ledger)),
    closed_to))

-- name: closed_to
SELECT closed_to FROM ledger_summed

-- name: spent_by_day
-- The sums of ledger_days and the rows written after them. A year of an account with many endpoints has tens of
-- thousands of rows in ledger_days, so they are added up before the union, in the order of the primary key.
SELECT day, sum(tokens) AS tokens_consumed, sum(calls) AS calls
FROM (
    SELECT day, sum(tokens) AS tokens, sum(calls) AS calls
    FROM ledger_days
    WHERE user_id = :user_id AND day >= :first
    GROUP BY day
    UNION ALL
    SELECT substr(created_at, 1, 10), -delta, CASE reason WHEN 'debit' THEN 1 ELSE 0 END
    FROM ledger
    WHERE user_id = :user_id AND id > (SELECT last_id FROM ledger_summed) AND endpoint IS NOT NULL
) AS spent
WHERE day >= :first
GROUP BY day
ORDER BY day

-- name: spent_by_endpoint
-- Like spent_by_day. The recursive part lists the endpoints of the account by index, one step for each. So the rows of an
-- endpoint are read in the order of ledger_days_by_endpoint and need not be sorted.
WITH RECURSIVE endpoints (endpoint) AS (
    SELECT min(endpoint) FROM ledger_days WHERE user_id = :user_id
    UNION ALL
    SELECT (SELECT min(endpoint) FROM ledger_days WHERE user_id = :user_id AND endpoint > endpoints.endpoint)
    FROM endpoints
    WHERE endpoint IS NOT NULL
)
SELECT endpoint, sum(tokens) AS tokens, sum(calls) AS calls
FROM (
    SELECT endpoint,
        (SELECT sum(tokens) FROM ledger_days
         WHERE user_id = :user_id AND endpoint = endpoints.endpoint AND day >= :first) AS tokens,
        (SELECT sum(calls) FROM ledger_days
         WHERE user_id = :user_id AND endpoint = endpoints.endpoint AND day >= :first) AS calls
    FROM endpoints
    UNION ALL
    SELECT endpoint, -delta, CASE reason WHEN 'debit' THEN 1 ELSE 0 END
    FROM ledger
    WHERE user_id = :user_id AND id > (SELECT last_id FROM ledger_summed) AND endpoint IS NOT NULL
        AND substr(created_at, 1, 10) >= :first
) AS spent
GROUP BY endpoint
HAVING sum(calls) IS NOT NULL
ORDER BY tokens DESC, calls DESC, endpoint
LIMIT 10

-- name: unequal_balances
SELECT email, balance, ledger
FROM (
    SELECT users.id, users.email, userplans.total_limit_api - userplans.reach_limit_api AS balance,
        (SELECT coalesce(sum(delta), 0) FROM ledger WHERE ledger.user_id = users.id) AS ledger
    FROM userplans
    JOIN users ON users.id = userplans.user_id
) AS found
WHERE balance <> ledger
ORDER BY id

-- name: unequal_wallets
SELECT users.email, users.credit_cents, coalesce(sum(wallet.cents), 0) AS rows
FROM users
LEFT JOIN wallet ON wallet.user_id = users.id
GROUP BY users.id
HAVING users.credit_cents <> coalesce(sum(wallet.cents), 0)
ORDER BY users.id

-- name: spent_by_account
SELECT users.email, userplans.plan, sum(ledger_days.tokens) AS tokens, sum(ledger_days.calls) AS calls
FROM ledger_days
JOIN users ON users.id = ledger_days.user_id
LEFT JOIN userplans ON userplans.user_id = users.id
WHERE ledger_days.day >= :first
GROUP BY users.id, userplans.plan
ORDER BY tokens DESC, users.email
