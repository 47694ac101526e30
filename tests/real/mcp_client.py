"""The official Python SDK's client against a finapi: run by an interpreter that has it, with a JSON document of what to
ask. Prints what it was told, one JSON document a line."""

import asyncio
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def talk(server, mode):
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        found = await client.call_tool("find_company", {"query": "apple"})
        wrong = await client.call_tool("company_overview", {"ticker": "NOPE"})
        read = await client.read_resource("finapi://coverage")
        prompt = await client.get_prompt("analyse_company", {"ticker": "AAPL"})
        told = {
            "mode": mode,
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "prompts": len((await client.list_prompts()).prompts),
            "resources": len((await client.list_resources()).resources),
            "templates": len((await client.list_resource_templates()).resource_templates),
            "found": found.structured_content["data"],
            "wrong": wrong.is_error,
            "read": len(read.contents),
            "prompt": prompt.messages[0].content.text[:12],
        }
        print(json.dumps(told))


async def main(asked):
    headers = {"X-API-Key": asked["env"]["FINAPI_API_KEY"]}
    for mode in ("legacy", "auto"):
        async with httpx2.AsyncClient(headers=headers) as http:
            await talk(streamable_http_client(asked["url"], http_client=http), mode)
        command, *arguments = asked["command"]
        await talk(StdioServerParameters(command=command, args=arguments, env=asked["env"]), mode)


asyncio.run(main(json.loads(sys.argv[1])))
