// Read a feed with the JavaScript client and print each message as a line of JSON.
// node node_client.js URL NAMESPACE OPTIONS TRANSPORTS COUNT
const { io } = require("socket.io-client");
const [url, namespace, options, transports, count] = process.argv.slice(2);
const printLine = (line) => console.log(JSON.stringify(line));
const socket = io(url + namespace, {
  ...JSON.parse(options),
  reconnection: false,
  ...(transports ? { transports: transports.split(",") } : {}),
});
let eventCount = 0;
socket.on("connect_error", (error) => {
  printLine({ refused: error.data && error.data.code, message: error.message });
  process.exit(0);
});
socket.onAny((type, event) => {
  printLine({ type, seq: event.seq });
  if (++eventCount == Number(count)) {
    socket.emit("subscribe", { tickers: ["AAPL"] }, (answer) => {
      printLine({ transport: socket.io.engine.transport.name, filter: answer.data });
      socket.disconnect();
      process.exit(0);
    });
  }
});
