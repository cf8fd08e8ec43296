// The official TypeScript SDK, first line: a server. Legacy era only.
import { randomUUID } from 'node:crypto';

import { INFO, INSTRUCTIONS, QUESTION, httpKind, offer, publish, require, serveHttp, text } from './contract.mjs';

const { McpServer, ResourceTemplate } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { SSEServerTransport } = require('@modelcontextprotocol/sdk/server/sse.js');
const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { completable } = require('@modelcontextprotocol/sdk/server/completable.js');
const types = require('@modelcontextprotocol/sdk/types.js');
const { z } = require('zod');

function build() {
    const capabilities = { logging: {}, resources: { subscribe: true } };
    const server = new McpServer(INFO, { instructions: INSTRUCTIONS, capabilities });
    const about = extra => ({
        signal: extra.signal,
        meta: extra._meta,
        notify: extra.sendNotification,
        // On the stream of the call, which `sendLoggingMessage` does not know.
        log: async (level, data) => {
            if (server.server.isMessageIgnored(level, extra.sessionId)) return;
            await extra.sendNotification({ method: 'notifications/message', params: { level, data } });
        }
    });
    offer(server, z, about);
    publish(server, z, { completable, ResourceTemplate, shape: args => args });

    const ask = (name, shape, run) => server.registerTool(name, { inputSchema: z.object(shape) }, run);
    ask('ask_name', {}, async () => {
        const answer = await server.server.elicitInput({ message: 'Who are you?', requestedSchema: QUESTION });
        return text(`Hello, ${answer.content.name}`);
    });
    ask('ask_model', { prompt: z.string() }, async a => {
        const messages = [{ role: 'user', content: { type: 'text', text: a.prompt } }];
        const answer = await server.server.createMessage({ messages, maxTokens: 100 });
        return text(`The model said: ${answer.content.text}`);
    });
    ask('ask_roots', {}, async () => text(JSON.stringify((await server.server.listRoots()).roots.map(r => r.uri))));

    server.server.setRequestHandler(types.SubscribeRequestSchema, async () => ({}));
    server.server.setRequestHandler(types.UnsubscribeRequestSchema, async () => ({}));
    return server;
}

// One server for each session, or, where there are none, for each request.
async function serveSse(req, res) {
    if (req.method === 'GET') {
        const transport = new SSEServerTransport('/messages', res);
        sessions.set(transport.sessionId, transport);
        await build().connect(transport);
        return;
    }
    const { pathname, searchParams } = new URL(req.url, 'http://127.0.0.1');
    if (pathname !== '/messages') return void res.writeHead(404).end();
    const id = searchParams.get('sessionId');
    await sessions.get(id).handlePostMessage(req, res);
}

async function serve(req, res) {
    let transport = sessions.get(req.headers['mcp-session-id']);
    if (!transport) {
        transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: kind === 'stateless' ? undefined : randomUUID,
            enableJsonResponse: kind === 'json',
            onsessioninitialized: id => void sessions.set(id, transport),
            onsessionclosed: id => void sessions.delete(id)
        });
        await build().connect(transport);
    }
    await transport.handleRequest(req, res);
}

const kind = httpKind();
const sessions = new Map();
if (!kind) await build().connect(new StdioServerTransport());
else if (kind === 'sse') serveHttp(serveSse, '/sse');
else serveHttp(serve, '/mcp');
