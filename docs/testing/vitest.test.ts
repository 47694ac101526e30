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
  const words = [...command.slice(1), "fixture", "--port", "0", "--ready", "json", "--exit-with-parent"];
  server = spawn(command[0], words, { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: server.stdout! }), "line");
  ready = JSON.parse(line);
});
afterAll(() => server.stdin?.end());
beforeEach(() => control("reset"));

async function control(name: string, body: object = {}) {
  const headers = { "X-Control-Token": ready.control_token };
  const answer = await fetch(`${ready.control_url}/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
  return answer.json();
}

// The client under test: it asks again when it is told to wait.
async function balance() {
  const headers = { "X-API-Key": ready.api_key };
  for (;;) {
    const answer = await fetch(`${ready.url}/api/v1/account/balance`, { headers });
    if (answer.status !== 429) return answer.json();
  }
}

test("a refused call is made again", async () => {
  await control("faults", { route: "GET /api/v1/account/*", status: 429, times: 2 });
  expect((await balance()).plan).toBe("pro");
});

test("tokens come back after a month", async () => {
  const { happened } = await control("clock", { advance: 31 * 86400 });
  expect(happened.map((one: { what: string }) => one.what)).toContain("plan.refilled");
});
