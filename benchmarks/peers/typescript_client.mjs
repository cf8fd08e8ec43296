// The official TypeScript SDK's client, for comparison; prints what `client.py` prints.
//
//   typescript_client.mjs [--secs S] [--width N] --stdio -- COMMAND…
//   typescript_client.mjs [--secs S] [--width N] --http URL
//
// BENCH_NODE is the folder whose node_modules holds the SDK.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.BENCH_NODE, 'x.js'));
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const TEXT = 'bench-echo-payload ' + 'x'.repeat(44);
const option = (name, otherwise) => {
    const at = process.argv.indexOf(name);
    return at < 0 ? otherwise : process.argv[at + 1];
};
const seconds = Number(option('--secs', '1'));
const url = option('--http', '');
const [command, ...args] = process.argv.slice(process.argv.indexOf('--') + 1);

const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args }));
const figures = { connect_ms: performance.now() };  // since the process began

async function callUntil(stop) {
    let calls = 0;
    while (performance.now() < stop) {
        const result = await client.callTool({ name: 'echo', arguments: { text: TEXT } });
        if (result.content[0].text !== TEXT) throw new Error(`wrong reply: ${JSON.stringify(result)}`);
        calls += 1;
    }
    return calls;
}

await callUntil(performance.now() + 1000);  // it grows faster as it runs
for (const [name, width] of [
    ['seq', 1],
    ['conc', Number(option('--width', '64'))]
]) {
    const cpu = process.cpuUsage();
    const start = performance.now();
    const counts = await Promise.all(Array.from({ length: width }, () => callUntil(start + seconds * 1000)));
    const calls = counts.reduce((one, other) => one + other, 0);
    const { user, system } = process.cpuUsage(cpu);
    figures[name] = (calls / (performance.now() - start)) * 1000;
    figures[`cpu_us_${name}`] = (user + system) / Math.max(calls, 1);
}
console.log(JSON.stringify(figures));
await client.close();
process.exit(0);
