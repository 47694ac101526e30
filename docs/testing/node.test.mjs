// A client under test, with node's own runner: pipx install FINAPI.whl; node --test node.test.mjs
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, beforeEach, test } from "node:test";

const command = (process.env.FIXTURE_COMMAND ?? "finapi").split(" ");
let server, ready;

before(async () => {
  const words = [...command.slice(1), "fixture", "--port", "0", "--ready", "json", "--exit-with-parent"];
  server = spawn(command[0], words, { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  ready = JSON.parse(line);
});
after(() => server.stdin.end());
beforeEach(() => control("reset"));

async function control(name, body = {}) {
  const headers = { "X-Control-Token": ready.control_token };
  const answer = await fetch(`${ready.control_url}/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(answer.status, 200);
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
  assert.equal((await balance()).plan, "pro");
});

test("tokens come back after a month", async () => {
  const { happened } = await control("clock", { advance: 31 * 86400 });
  assert.ok(happened.some((one) => one.what === "plan.refilled"));
});
