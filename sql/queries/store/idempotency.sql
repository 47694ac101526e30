-- name: stored_response
SELECT body, answer FROM kept_answers
WHERE user_id = :user_id AND route = :route AND key = :key AND created_at > :since

-- name: delete_old_responses
DELETE FROM kept_answers WHERE created_at <= :before

-- name: insert_stored_response
INSERT INTO kept_answers (user_id, route, key, body, answer, created_at)
VALUES (:user_id, :route, :key, :body_hash, :response, :now)
