// The official TypeScript client: one call, with its default timeout or the one given; prints the result as JSON.
// node client.mjs SDK_DIR TIMEOUT_MS|default TOOL ARGUMENTS COMMAND ARGS…
const [sdk, timeout, tool, given, command, ...args] = process.argv.slice(2);
const { Client } = await import(`${sdk}/client/index.js`);
const { StdioClientTransport } = await import(`${sdk}/client/stdio.js`);

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
await client.listTools(); // so that results are checked against the output schemas
const options = timeout === "default" ? undefined : { timeout: Number(timeout) };
const progress = [];
const found = await client.callTool({ name: tool, arguments: JSON.parse(given) }, undefined, {
  ...options,
  onprogress: (p) => progress.push(p),
});
let last = found;
// the model's part: while it is not over, wait on
while (last.structuredContent?.status === "running") {
  const jobId = last.structuredContent.jobId ?? last.structuredContent.jobs[0].jobId;
  const more = given.includes("wait_sec") ? { wait_sec: JSON.parse(given).wait_sec } : {};
  last = await client.callTool({ name: "wait", arguments: { job_id: jobId, ...more } }, undefined, options);
}
console.log(JSON.stringify({ first: found, last, progress }));
await client.close();
