// The official TypeScript SDK, first line: a server. Legacy era only.
import { INFO, INSTRUCTIONS, QUESTION, offer, publish, require, text } from './contract.mjs';

const { McpServer, ResourceTemplate } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
const { completable } = require('@modelcontextprotocol/sdk/server/completable.js');
const types = require('@modelcontextprotocol/sdk/types.js');
const { z } = require('zod');

const capabilities = { logging: {}, resources: { subscribe: true } };
const server = new McpServer(INFO, { instructions: INSTRUCTIONS, capabilities });
const about = extra => ({
    signal: extra.signal,
    meta: extra._meta,
    notify: extra.sendNotification,
    log: (level, data) => server.sendLoggingMessage({ level, data })
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
await server.connect(new StdioServerTransport());
