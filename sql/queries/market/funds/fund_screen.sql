-- part: matching_funds
FROM fund_reports INDEXED BY latest_fund_reports
WHERE is_latest
    AND (:ciks IS NULL OR cik IN (SELECT value FROM json_each(:ciks)))
    AND (:series IS NULL OR series_id IN (SELECT value FROM json_each(:series)))
    AND (:net_assets_gt IS NULL OR CAST(net_assets AS REAL) > :net_assets_gt)
    AND (:net_assets_lt IS NULL OR CAST(net_assets AS REAL) < :net_assets_lt)
    AND (:tot_assets_gt IS NULL OR CAST(total_assets AS REAL) > :tot_assets_gt)
    AND (:tot_assets_lt IS NULL OR CAST(total_assets AS REAL) < :tot_assets_lt)
    AND (:tot_liabs_gt IS NULL OR CAST(total_liabilities AS REAL) > :tot_liabs_gt)
    AND (:tot_liabs_lt IS NULL OR CAST(total_liabilities AS REAL) < :tot_liabs_lt)
    AND (:flow_sales_1m_gt IS NULL OR CAST(sales AS REAL) > :flow_sales_1m_gt)
    AND (:flow_sales_1m_lt IS NULL OR CAST(sales AS REAL) < :flow_sales_1m_lt)
    AND (:flow_reinvestment_1m_gt IS NULL OR CAST(reinvestment AS REAL) > :flow_reinvestment_1m_gt)
    AND (:flow_reinvestment_1m_lt IS NULL OR CAST(reinvestment AS REAL) < :flow_reinvestment_1m_lt)
    AND (:flow_redemption_1m_gt IS NULL OR CAST(redemption AS REAL) > :flow_redemption_1m_gt)
    AND (:flow_redemption_1m_lt IS NULL OR CAST(redemption AS REAL) < :flow_redemption_1m_lt)
    AND (:return_1m_gt IS NULL OR CAST(class_return AS REAL) > :return_1m_gt)
    AND (:return_1m_lt IS NULL OR CAST(class_return AS REAL) < :return_1m_lt)
    AND (:holdings_count_gt IS NULL OR position_count > :holdings_count_gt)
    AND (:holdings_count_lt IS NULL OR position_count < :holdings_count_lt)

-- name: screened_funds
SELECT accession AS accession_number, series_id, series_name, cik, registrant_name AS reg_name, period AS as_of,
    net_assets, total_assets AS tot_assets, total_liabilities AS tot_liabs, sales AS flow_sales_1m,
    reinvestment AS flow_reinvestment_1m, redemption AS flow_redemption_1m, class_return AS return_1m,
    position_count AS holdings_count, doubts
{matching_funds}
ORDER BY CAST(net_assets AS REAL) DESC, fund_id
LIMIT :limit OFFSET :offset

-- name: count_of_screened_funds
SELECT count(*) {matching_funds}
