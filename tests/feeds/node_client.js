// Reads a feed with the JavaScript client and prints what it is told, a JSON line each.
// node node_client.js URL NAMESPACE OPTIONS TRANSPORTS COUNT
const { io } = require("socket.io-client");
const [url, namespace, options, transports, count] = process.argv.slice(2);
const say = (line) => console.log(JSON.stringify(line));
const socket = io(url + namespace, {
  ...JSON.parse(options),
  reconnection: false,
  ...(transports ? { transports: transports.split(",") } : {}),
});
let told = 0;
socket.on("connect_error", (error) => {
  say({ refused: error.data && error.data.code, message: error.message });
  process.exit(0);
});
socket.onAny((type, event) => {
  say({ type, seq: event.seq });
  if (++told == Number(count)) {
    socket.emit("subscribe", { tickers: ["AAPL"] }, (answer) => {
      say({ transport: socket.io.engine.transport.name, filter: answer.data });
      socket.disconnect();
      process.exit(0);
    });
  }
});
