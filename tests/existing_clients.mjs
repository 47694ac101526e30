// socket.io-client on each feed, and a webhook that is delivered here and verified by standardwebhooks: URL KEY.
import { createServer } from "node:http";
import { io } from "socket.io-client";
import { Webhook } from "standardwebhooks";

const [url, key] = process.argv.slice(2);
const headers = { "X-API-Key": key, "Content-Type": "application/json" };

for (const feed of ["main-api", "insider-api", "13f-live"]) {
  const socket = io(`${url}/ws/${feed}`, { auth: { token: key, since_seq: 0 }, reconnection: false });
  const [type, event] = await new Promise((resolve, reject) => {
    socket.onAny((...said) => resolve(said));
    socket.on("connect_error", reject);
  });
  console.log(feed, type, event.seq);
  socket.disconnect();
}

const { secret } = await (await fetch(`${url}/api/v1/webhooks/secret`, { headers })).json();
const delivered = new Promise((resolve) => {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    response.end("ok");
    server.close();
    resolve([body, request.headers]);
  }).listen(0, "127.0.0.1", async () => {
    const body = JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/` });
    await fetch(`${url}/api/v1/webhooks/test`, { method: "POST", headers, body });
  });
});
const message = new Webhook(secret).verify(...(await delivered));
console.log(message.event_type, message.payload.message);
process.exit(0);
