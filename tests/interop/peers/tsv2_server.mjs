// The official TypeScript SDK, second line: a server, in both eras.
import { randomUUID } from 'node:crypto';

import { INFO, INSTRUCTIONS, QUESTION, httpKind, listenerOf, offer, publish, require, serveHttp, text } from './contract.mjs';

const sdk = require('@modelcontextprotocol/server');
const { McpServer, ResourceTemplate, completable, inputRequired } = sdk;
const { serveStdio } = require('@modelcontextprotocol/server/stdio');
const { z } = require('zod');

function build() {
    const capabilities = { logging: {}, resources: { subscribe: true } };
    const server = new McpServer(INFO, { instructions: INSTRUCTIONS, capabilities });
    const about = ctx => ({ signal: ctx.mcpReq.signal, meta: ctx.mcpReq._meta, notify: ctx.mcpReq.notify, log: ctx.mcpReq.log });
    offer(server, z, about, news);
    publish(server, z, { completable, ResourceTemplate, shape: z.object });

    // Each question is returned; toward a legacy client the SDK asks it by itself.
    const ask = (name, shape, question, answered) =>
        server.registerTool(name, { inputSchema: z.object(shape) }, async (args, ctx) => {
            const answer = ctx.mcpReq.inputResponses?.answer;
            return answer ? text(answered(answer)) : inputRequired({ inputRequests: { answer: question(args) } });
        });
    ask(
        'ask_name',
        {},
        () => inputRequired.elicit({ message: 'Who are you?', requestedSchema: QUESTION }),
        answer => `Hello, ${answer.content.name}`
    );
    ask(
        'ask_model',
        { prompt: z.string() },
        a => inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: a.prompt } }], maxTokens: 100 }),
        answer => `The model said: ${answer.content.text}`
    );
    ask('ask_roots', {}, () => inputRequired.listRoots(), answer => JSON.stringify(answer.roots.map(r => r.uri)));

    server.server.setRequestHandler('resources/subscribe', async () => ({}));
    server.server.setRequestHandler('resources/unsubscribe', async () => ({}));
    return server;
}

// What streams outside of any server are told: the modern ones over HTTP.
const news = {};

// Over HTTP a modern server lives for one request, and a legacy one for a session, if there are any.
function serveBothEras(kind) {
    const isStateless = kind === 'stateless';
    const modern = sdk.createMcpHandler(build, {
        legacy: isStateless ? 'stateless' : 'reject',
        responseMode: kind === 'json' ? 'json' : 'auto'
    });
    news.touched = () => modern.notify.resourceUpdated('demo://greeting');
    news.grown = () => modern.notify.toolsChanged();
    const sessions = new Map();

    const serve = async request => {
        if (isStateless || !(await sdk.isLegacyRequest(request))) return modern.fetch(request);
        let transport = sessions.get(request.headers.get('mcp-session-id'));
        if (!transport) {
            transport = new sdk.WebStandardStreamableHTTPServerTransport({
                sessionIdGenerator: randomUUID,
                enableJsonResponse: kind === 'json',
                onsessioninitialized: id => void sessions.set(id, transport),
                onsessionclosed: id => void sessions.delete(id)
            });
            await build().connect(transport);
        }
        return transport.handleRequest(request);
    };
    serveHttp(listenerOf(serve), '/mcp');
}

const kind = httpKind();
if (kind) serveBothEras(kind);
else serveStdio(build);
