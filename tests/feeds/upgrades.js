// How many of COUNT connections the JavaScript client upgrades to a WebSocket: under node, node upgrades.js URL AUTH
// COUNT, and in a page that has the client's script. Two are open at a time; it stops at the first that stays behind.
const NAMESPACES = ["/ws/main-api", "/ws/insider-api", "/ws/13f-live"];

const upgraded = async (io, url, auth, count) => {
  const counts = { websocket: 0 };
  let begun = 0;
  const next = async () => {
    while (begun < count) {
      const socket = io(url + NAMESPACES[begun++ % 3], { auth, reconnection: false, forceNew: true });
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
      if (reached != "websocket") begun = count;
    }
  };
  await Promise.all([next(), next()]);
  return counts;
};

if (typeof window == "undefined") {
  const [url, auth, count] = process.argv.slice(2);
  upgraded(require("socket.io-client").io, url, JSON.parse(auth), Number(count)).then((said) => {
    console.log(JSON.stringify(said));
    process.exit(0);
  });
}
