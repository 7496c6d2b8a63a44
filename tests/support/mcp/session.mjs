// The official TypeScript client, for many calls on one connection: JSON lines {id, tool, arguments} in, {id, result} out.
// node session.mjs SDK_DIR COMMAND ARGS…
import readline from "node:readline";

const [sdk, command, ...args] = process.argv.slice(2);
const { Client } = await import(`${sdk}/client/index.js`);
const { StdioClientTransport } = await import(`${sdk}/client/stdio.js`);

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
await client.listTools(); // so that results are checked against the output schemas
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, tool, arguments: given } = JSON.parse(line);
  client.callTool({ name: tool, arguments: given }, undefined, { timeout: 100_000 }).then(
    (result) => console.log(JSON.stringify({ id, result })),
    (error) => console.log(JSON.stringify({ id, failure: String(error) })),
  );
}
await client.close();
