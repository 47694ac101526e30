// The official TypeScript SDK's client against a finapi: given a JSON document of what to ask.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const asked = JSON.parse(process.argv[2]);
const [command, ...args] = asked.command;
const headers = { Authorization: "Bearer " + asked.env.FINAPI_API_KEY };
for (const transport of [
  new StreamableHTTPClientTransport(new URL(asked.url), { requestInit: { headers } }),
  new StdioClientTransport({ command, args, env: asked.env }),
]) {
  const client = new Client({ name: "proof", version: "1" });
  await client.connect(transport);
  const found = await client.callTool({ name: "find_company", arguments: { query: "apple" } });
  const wrong = await client.callTool({ name: "company_overview", arguments: { ticker: "NOPE" } });
  const prompt = await client.getPrompt({ name: "analyse_company", arguments: { ticker: "AAPL" } });
  const read = await client.readResource({ uri: "finapi://coverage" });
  await client.ping();
  console.log(JSON.stringify({
    tools: (await client.listTools()).tools.map((tool) => tool.name),
    prompts: (await client.listPrompts()).prompts.length,
    resources: (await client.listResources()).resources.length,
    templates: (await client.listResourceTemplates()).resourceTemplates.length,
    found: found.structuredContent.data,
    wrong: wrong.isError,
    read: read.contents.length,
    prompt: prompt.messages[0].content.text.slice(0, 12),
  }));
  await client.close();
}
