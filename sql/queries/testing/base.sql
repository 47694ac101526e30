-- name: spend_all
UPDATE userplans SET reach_limit_api = total_limit_api, updated_at = :now WHERE user_id = :user_id
