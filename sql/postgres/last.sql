CREATE FUNCTION status_check_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO status_hours (service, start, checks, healthy, degraded, down, ms)
    VALUES (NEW.service, NEW.tick - NEW.tick % 3600, 1, (NEW.class = 'healthy')::int, (NEW.class = 'degraded')::int,
            (NEW.class = 'down')::int, NEW.ms)
    ON CONFLICT (service, start) DO UPDATE SET checks = status_hours.checks + 1,
        healthy = status_hours.healthy + excluded.healthy, degraded = status_hours.degraded + excluded.degraded,
        down = status_hours.down + excluded.down, ms = status_hours.ms + excluded.ms;
    INSERT INTO status_days (service, start, checks, healthy, degraded, down, ms)
    VALUES (NEW.service, NEW.tick - NEW.tick % 86400, 1, (NEW.class = 'healthy')::int, (NEW.class = 'degraded')::int,
            (NEW.class = 'down')::int, NEW.ms)
    ON CONFLICT (service, start) DO UPDATE SET checks = status_days.checks + 1,
        healthy = status_days.healthy + excluded.healthy, degraded = status_days.degraded + excluded.degraded,
        down = status_days.down + excluded.down, ms = status_days.ms + excluded.ms;
    RETURN NULL;
END $$;

CREATE TRIGGER status_check_counted AFTER INSERT ON status_checks
    FOR EACH ROW EXECUTE FUNCTION status_check_counted();

CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is not changed' USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER audit_stays BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_stays();
