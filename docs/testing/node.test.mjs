// A client under test, with node's own runner: pipx install FINAPI.whl; node --test node.test.mjs
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, beforeEach, test } from "node:test";

const command = (process.env.FIXTURE_COMMAND ?? "finapi").split(" ");
let server, ready;

before(async () => {
  const args = [...command.slice(1), "fixture", "--port", "0", "--ready", "json", "--exit-with-parent"];
  server = spawn(command[0], args, { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  ready = JSON.parse(line);
});
after(() => server.stdin.end());
beforeEach(() => control("reset"));

async function control(name, body = {}) {
  const headers = { "X-Control-Token": ready.control_token };
  const response = await fetch(`${ready.control_url}/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 200);
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
  assert.equal((await balance()).plan, "pro");
});

test("tokens are refilled after a month", async () => {
  const { happened } = await control("clock", { advance: 31 * 86400 });
  assert.ok(happened.some((event) => event.what === "plan.refilled"));
});
