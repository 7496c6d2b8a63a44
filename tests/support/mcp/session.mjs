// The official TypeScript client, for many calls on one connection: JSON lines {id, tool, arguments} in, {id, result} or
// {id, failure} out. {abort: id} cancels a call. The first line out is {server: pid}.
// node session.mjs SDK_DIR COMMAND ARGS…
import readline from "node:readline";

const [sdk, command, ...args] = process.argv.slice(2);
const { Client } = await import(`${sdk}/client/index.js`);
const { StdioClientTransport } = await import(`${sdk}/client/stdio.js`);

const client = new Client({ name: "test", version: "1" });
const transport = new StdioClientTransport({ command, args, env: process.env });
await client.connect(transport);
await client.listTools(); // so that results are checked against the output schemas
const begun = new Map();
console.log(JSON.stringify({ server: transport.pid }));
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, tool, arguments: given, abort } = JSON.parse(line);
  if (abort !== undefined) {
    begun.get(abort).abort();
    continue;
  }
  begun.set(id, new AbortController());
  client.callTool({ name: tool, arguments: given }, undefined, { timeout: 100_000, signal: begun.get(id).signal }).then(
    (result) => console.log(JSON.stringify({ id, result })),
    (error) => console.log(JSON.stringify({ id, failure: String(error) })),
  );
}
await client.close();
