// The official TypeScript SDK's server, for comparison: the tools that are measured, as its users write them.
//
//   typescript_server.mjs --http PORT [--json]
//
// BENCH_NODE is the folder whose node_modules holds the SDK.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.BENCH_NODE, 'x.js'));
const { McpServer, createMcpHandler } = require('@modelcontextprotocol/server');
const { toNodeHandler, NodeStreamableHTTPServerTransport } = require('@modelcontextprotocol/node');
const { z } = require('zod');

const port = Number(process.argv[process.argv.indexOf('--http') + 1]);
const json = process.argv.includes('--json');
const inputSchema = z.object({ text: z.string() });
const result = text => ({ content: [{ type: 'text', text }] });

function build() {
    const server = new McpServer({ name: 'bench', version: '1' });
    server.registerTool('echo', { description: 'Return the text unchanged.', inputSchema }, async ({ text }) => result(text));
    server.registerTool(
        'echo_progress',
        { description: 'Return the text unchanged, and tell of progress first.', inputSchema },
        async ({ text }, ctx) => {
            const progressToken = ctx.mcpReq._meta?.progressToken;
            await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } });
            return result(text);
        }
    );
    return server;
}

const modern = toNodeHandler(createMcpHandler(build, { responseMode: json ? 'json' : 'auto', maxSubscriptions: 100000 }));
const sessions = new Map();

async function open() {
    const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: json,
        onsessioninitialized: id => void sessions.set(id, transport)
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await build().connect(transport);
    return transport;
}

createServer(async (request, response) => {
    if ((request.headers['mcp-protocol-version'] ?? '') >= '2026-07-28') return void (await modern(request, response));
    const transport = sessions.get(request.headers['mcp-session-id']) ?? (await open());
    await transport.handleRequest(request, response);
}).listen(port, '127.0.0.1');
