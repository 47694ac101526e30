"""A test program for the official Python SDK's MCP client.

It runs in an interpreter that has the SDK, reads the server's address as a JSON document and prints the answers, one
JSON document per line.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def print_answers(server, mode):
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        companies = await client.call_tool("find_company", {"query": "apple"})
        unknown_ticker = await client.call_tool("company_overview", {"ticker": "NOPE"})
        coverage = await client.read_resource("finapi://coverage")
        prompt = await client.get_prompt("analyse_company", {"ticker": "AAPL"})
        answers = {
            "mode": mode,
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "prompts": len((await client.list_prompts()).prompts),
            "resources": len((await client.list_resources()).resources),
            "templates": len((await client.list_resource_templates()).resource_templates),
            "found": companies.structured_content["data"],
            "wrong": unknown_ticker.is_error,
            "read": len(coverage.contents),
            "prompt": prompt.messages[0].content.text[:12],
        }
        print(json.dumps(answers))


async def main(finapi):
    headers = {"X-API-Key": finapi["env"]["FINAPI_API_KEY"]}
    for mode in ("legacy", "auto"):
        async with httpx2.AsyncClient(headers=headers) as http:
            await print_answers(streamable_http_client(finapi["url"], http_client=http), mode)
        command, *arguments = finapi["command"]
        await print_answers(StdioServerParameters(command=command, args=arguments, env=finapi["env"]), mode)


asyncio.run(main(json.loads(sys.argv[1])))
