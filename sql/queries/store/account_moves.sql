-- name: moved_accounts_database
SELECT database FROM moved_accounts

-- name: insert_moved_accounts
INSERT INTO moved_accounts (database) VALUES (:database)

-- name: delete_moved_accounts
DELETE FROM moved_accounts
