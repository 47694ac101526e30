-- name: add_activity
INSERT INTO activity_hours (measure, start, amount) VALUES (:measure, :start, :amount)
ON CONFLICT (measure, start) DO UPDATE SET amount = activity_hours.amount + excluded.amount

-- name: raise_activity
INSERT INTO activity_hours (measure, start, amount) VALUES (:measure, :start, :amount)
ON CONFLICT (measure, start) DO UPDATE SET amount = max(activity_hours.amount, excluded.amount)

-- name: delete_old_activity
DELETE FROM activity_hours WHERE start < :before

-- name: activity_since
SELECT measure, start, amount FROM activity_hours WHERE start >= :start
