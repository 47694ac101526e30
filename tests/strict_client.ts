// Ten calls each with the clients of openapi-fetch and hey-api; compiled strictly, then run: URL KEY.
import createClient from "openapi-fetch";
import type { paths } from "./api";
import * as hey from "./hey";
import { client as heyClient } from "./hey/client.gen";

declare const process: { argv: string[] };
const [url, key] = process.argv.slice(2) as [string, string];
const headers = { "X-API-Key": key };
const client = createClient<paths>({ baseUrl: url, headers });

// A call that must have gone well; its answer has one type, the JSON's, also where it may come as a table.
const of = <T>(said: { data?: T; error?: unknown }): T => {
  if (said.data === undefined) throw new Error(JSON.stringify(said.error));
  return said.data;
};

const statements = of(
  await client.GET("/api/v1/xbrl/companies/{ticker}/statements", {
    params: { path: { ticker: "AAPL" }, query: { period: "A", statement: ["balance"] } },
  }),
);
// @ts-expect-error: there is no such member
statements.data.tickers;
const filings = of(await client.GET("/api/v1/sec/filings", { params: { query: { ticker: ["AAPL", "NFLX"], limit: 3 } } }));
const numbers: string[] = filings.data.map((one) => one.accession_number);
const fund = of(await client.GET("/api/v1/form-13f/fund/{cik}", { params: { path: { cik: "1067983" } } }));
const issuers: string[] = fund.holdings.map((one) => one.name_of_issuer);
const prices = of(await client.GET("/api/v1/prices/{ticker}", { params: { path: { ticker: "AAPL" }, query: { limit: 2 } } }));
const series = of(await client.GET("/api/v1/xbrl/timeseries", { params: { query: { ticker: "AAPL", metrics: ["revenue"] } } }));
const overview = of(await client.GET("/api/v1/tickers/{ticker}/overview", { params: { path: { ticker: "AAPL" } } }));
const insiders = of(await client.GET("/api/v1/insiders/transactions/latest", { params: { query: { limit: 2 } } }));
const cusips = of(await client.POST("/api/v1/cusip/batch", { body: { cusips: ["037833100"] } }));
const policy = of(await client.GET("/api/v1/policy"));
const refused = await client.GET("/api/v1/tickers/{ticker}/overview", { params: { path: { ticker: "NOBODY" } } });
const code: string = refused.error!.code;
console.log("openapi-fetch", [statements.data.ticker, numbers.length, issuers.length > 0, prices.data.length, series.data.ticker, overview.data.ticker, insiders.data.length, cusips.results.length, policy.data.api_version, code].join(" "));

heyClient.setConfig({ baseUrl: url, headers });
const ticker = { path: { ticker: "AAPL" } };
const heyStatements = of(await hey.getXbrlCompaniesTickerStatements({ ...ticker, query: { period: "A", statement: ["balance"] } }));
// @ts-expect-error: there is no such member
heyStatements.data.tickers;
const heyFilings = of(await hey.getSecFilings({ query: { ticker: ["AAPL", "NFLX"], limit: 3 } }));
const heyNumbers: string[] = heyFilings.data.map((one) => one.accession_number);
const heyFund = of(await hey.getForm13fFundCik({ path: { cik: "1067983" } }));
const heyIssuers: string[] = heyFund.holdings.map((one) => one.name_of_issuer);
const heyPrices = of(await hey.getPricesTicker({ ...ticker, query: { limit: 2 } }));
const heySeries = of(await hey.getXbrlTimeseries({ query: { ticker: "AAPL", metrics: ["revenue"] } }));
const heyOverview = of(await hey.getTickersTickerOverview(ticker));
const heyInsiders = of(await hey.getInsidersTransactionsLatest({ query: { limit: 2 } }));
const heyCusips = of(await hey.postCusipBatch({ body: { cusips: ["037833100"] } }));
const heyPolicy = of(await hey.getPolicy());
const heyRefused = await hey.getTickersTickerOverview({ path: { ticker: "NOBODY" } });
const heyCode: string = heyRefused.error!.code;
console.log("hey-api", [heyStatements.data.ticker, heyNumbers.length, heyIssuers.length > 0, heyPrices.data.length, heySeries.data.ticker, heyOverview.data.ticker, heyInsiders.data.length, heyCusips.results.length, heyPolicy.data.api_version, heyCode].join(" "));
