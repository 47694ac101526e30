// Count how many of COUNT connections the JavaScript client upgrades to a WebSocket. It runs in Node, as
// node upgrades.js URL AUTH COUNT, and in a page that contains the client's script. Two connections are open at a time.
// It stops at the first one that is not upgraded.
const NAMESPACES = ["/ws/main-api", "/ws/insider-api", "/ws/13f-live"];

const upgraded = async (io, url, auth, count) => {
  const counts = { websocket: 0 };
  let startedCount = 0;
  const next = async () => {
    while (startedCount < count) {
      const socket = io(url + NAMESPACES[startedCount++ % 3], { auth, reconnection: false, forceNew: true });
      const reached = await new Promise((resolve) => {
        socket.on("connect_error", (error) => resolve(error.message));
        socket.on("connect", () => {
          if (socket.io.engine.transport.name == "websocket") resolve("websocket");
          socket.io.engine.on("upgrade", (transport) => resolve(transport.name));
          setTimeout(() => resolve("no upgrade within 5 seconds"), 5000);
        });
      });
      socket.disconnect();
      counts[reached] = (counts[reached] || 0) + 1;
      if (reached != "websocket") startedCount = count;
    }
  };
  await Promise.all([next(), next()]);
  return counts;
};

if (typeof window == "undefined") {
  const [url, auth, count] = process.argv.slice(2);
  upgraded(require("socket.io-client").io, url, JSON.parse(auth), Number(count)).then((counts) => {
    console.log(JSON.stringify(counts));
    process.exit(0);
  });
}
