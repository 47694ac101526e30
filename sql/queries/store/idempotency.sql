-- name: kept_answer
SELECT body, answer FROM kept_answers
WHERE user_id = :user_id AND route = :route AND key = :key AND created_at > :since

-- name: forget_answers
DELETE FROM kept_answers WHERE created_at <= :before

-- name: keep_answer
INSERT INTO kept_answers (user_id, route, key, body, answer, created_at)
VALUES (:user_id, :route, :key, :body, :answer, :now)
