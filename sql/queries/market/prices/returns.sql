-- part: close_where_date
(SELECT json_array(date, close, adj_close) FROM prices WHERE series_id = series_day.value ->> 0 AND date

-- name: closes_after_days
-- For pairs of a series and a day: the last close up to the day and the closes 1, 5, 20 and 60 trading days later. Each
-- is a JSON array of the date, the close and the adjusted close.
SELECT series_day.value ->> 0 AS series_id, series_day.value ->> 1 AS day,
    {close_where_date} <= series_day.value ->> 1 ORDER BY date DESC LIMIT 1) AS after_0,
    {close_where_date} > series_day.value ->> 1 ORDER BY date LIMIT 1 OFFSET 0) AS after_1,
    {close_where_date} > series_day.value ->> 1 ORDER BY date LIMIT 1 OFFSET 4) AS after_5,
    {close_where_date} > series_day.value ->> 1 ORDER BY date LIMIT 1 OFFSET 19) AS after_20,
    {close_where_date} > series_day.value ->> 1 ORDER BY date LIMIT 1 OFFSET 59) AS after_60
FROM json_each(:series_days) AS series_day

-- name: closes_of_spans
-- For spans of days: the last close up to each end, as a JSON array of the date, the close and the adjusted close.
SELECT span.value ->> 0 AS first, span.value ->> 1 AS last,
    (SELECT json_array(date, close, adj_close) FROM prices
        WHERE series_id = :series_id AND date <= span.value ->> 0 ORDER BY date DESC LIMIT 1) AS at_first,
    (SELECT json_array(date, close, adj_close) FROM prices
        WHERE series_id = :series_id AND date <= span.value ->> 1 ORDER BY date DESC LIMIT 1) AS at_last
FROM json_each(:spans) AS span
