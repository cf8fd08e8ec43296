// The official TypeScript SDK, second line: a client, in either era.
import { Inbox, MODERN, answers, options, require, tour } from './contract.mjs';

const { Client, SSEClientTransport, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const { era, command, args, env, url, isSse } = options();
const mode = { auto: 'auto', legacy: 'legacy', modern: { pin: MODERN } }[era];
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } };
const client = new Client({ name: 'tsv2-peer', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } });
for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);

const inbox = new Inbox();
const logs = [];
client.setNotificationHandler('notifications/message', n => void logs.push([n.params.level, n.params.data]));
for (const method of ['notifications/resources/updated', 'notifications/tools/list_changed'])
    client.setNotificationHandler(method, n => inbox.put(n));

const transport = isSse ? new SSEClientTransport(url) : url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport({ command, args, env });
await client.connect(transport);
await tour({
    client,
    leave: async () => void (await transport.terminateSession?.()),
    inbox,
    logs,
    listen: filter => client.listen(filter),
    version: { negotiated: () => client.getNegotiatedProtocolVersion() }
});
