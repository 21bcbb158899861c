// SPDX-License-Identifier: Apache-2.0
// lpo mcp with the protocol's own SDK as its client. Prints TAP. client.mjs LPO FOLDER TRACE
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [lpo, folder, trace] = process.argv.slice(2);
let number = 0;
async function test(name, body) {
  try {
    await body();
    console.log(`ok ${++number} - ${name}`);
  } catch (why) {
    console.log(`not ok ${++number} - ${name}\n# ${String(why.stack ?? why).replaceAll("\n", "\n# ")}`);
  }
}
function same(a, b) {
  if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error(`${JSON.stringify(a)} is not ${JSON.stringify(b)}`);
}

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command: lpo, args: ["mcp", folder] }));

await test("initialise", () => {
  same(client.getServerVersion().name, "lpo");
  same(Object.keys(client.getServerCapabilities()).sort(), ["resources", "tools"]);
});
await test("list", async () => {
  const { tools } = await client.listTools();
  same(tools.length, 10);
  for (const tool of tools) same(tool.inputSchema.type, "object");
  same((await client.listResources()).resources.every((r) => r.uri.startsWith("lpo://docs/")), true);
});
await test("call", async () => {
  const got = await client.callTool({ name: "kernels", arguments: { files: trace, limit: 2 } });
  same(JSON.parse(got.content[0].text).kernels.length, 2);
});
await test("an error is an answer", async () => {
  const got = await client.callTool({ name: "kernels", arguments: { files: "none" } });
  same(got.isError, true);
});
await test("an unknown tool is refused", async () => {
  let refused = false;
  try {
    await client.callTool({ name: "none", arguments: {} });
  } catch (why) {
    refused = why.code === -32602;
  }
  same(refused, true);
});
await test("cancel, with progress before", async () => {
  const abort = new AbortController();
  let heard = 0;
  const call = client.callTool({ name: "kernels", arguments: { files: "slow.json" } }, undefined, {
    signal: abort.signal,
    onprogress: () => {
      heard++;
      abort.abort("enough");
    },
  });
  let cancelled = false;
  await call.catch(() => (cancelled = true));
  same([cancelled, heard], [true, 1]);
  same(await client.ping(), {});
});
console.log(`1..${number}`);
await client.close();
