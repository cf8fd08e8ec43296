// The official TypeScript SDK, second line: a server, in both eras.
import { INFO, INSTRUCTIONS, QUESTION, offer, publish, require, text } from './contract.mjs';

const { McpServer, ResourceTemplate, completable, inputRequired } = require('@modelcontextprotocol/server');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');
const { z } = require('zod');

function build() {
    const capabilities = { logging: {}, resources: { subscribe: true } };
    const server = new McpServer(INFO, { instructions: INSTRUCTIONS, capabilities });
    const about = ctx => ({ signal: ctx.mcpReq.signal, meta: ctx.mcpReq._meta, notify: ctx.mcpReq.notify, log: ctx.mcpReq.log });
    offer(server, z, about);
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

serveStdio(build);
