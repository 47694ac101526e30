// A client under test, with vitest: pipx install FINAPI.whl; npx vitest run vitest.test.ts
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

type Ready = { url: string; api_key: string; control_url: string; control_token: string };
const command = (process.env.FIXTURE_COMMAND ?? "finapi").split(" ");
let server: ChildProcess;
let ready: Ready;

beforeAll(async () => {
  const args = [...command.slice(1), "fixture", "--port", "0", "--ready", "json", "--exit-with-parent"];
  server = spawn(command[0], args, { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: server.stdout! }), "line");
  ready = JSON.parse(line);
});
afterAll(() => server.stdin?.end());
beforeEach(() => control("reset"));

async function control(name: string, body: object = {}) {
  const headers = { "X-Control-Token": ready.control_token };
  const response = await fetch(`${ready.control_url}/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return response.json();
}

// The client under test: it retries a call that is refused for now.
async function balance() {
  const headers = { "X-API-Key": ready.api_key };
  for (;;) {
    const response = await fetch(`${ready.url}/api/v1/account/balance`, { headers });
    if (response.status !== 429) return response.json();
  }
}

test("a refused call is retried", async () => {
  await control("faults", { route: "GET /api/v1/account/*", status: 429, times: 2 });
  expect((await balance()).plan).toBe("pro");
});

test("tokens are refilled after a month", async () => {
  const { happened } = await control("clock", { advance: 31 * 86400 });
  expect(happened.map((event: { what: string }) => event.what)).toContain("plan.refilled");
});
