-- What SQLite has built in, and the queries use.
CREATE TABLE schema_version (number BIGINT NOT NULL, moved_to TEXT);

CREATE FUNCTION max(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT greatest($1, $2)';

CREATE FUNCTION min(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT least($1, $2)';

CREATE FUNCTION max(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT greatest($1, $2)';

CREATE FUNCTION min(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT least($1, $2)';

CREATE FUNCTION instr(text, text) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT strpos($1, $2)';

CREATE FUNCTION hex(bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$SELECT upper(encode($1, 'hex'))$$;

CREATE FUNCTION json_each(text) RETURNS TABLE (key bigint, value text) LANGUAGE sql IMMUTABLE STRICT AS
    'SELECT n - 1, v FROM json_array_elements_text($1::json) WITH ORDINALITY AS one (v, n)';
