// The official TypeScript SDK, first line: a client. Legacy era only.
import { Inbox, answers, options, require, tour } from './contract.mjs';

const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { SSEClientTransport } = require('@modelcontextprotocol/sdk/client/sse.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const types = require('@modelcontextprotocol/sdk/types.js');

const { era, command, args, env, url, isSse } = options();
if (era !== 'legacy') types.LATEST_PROTOCOL_VERSION = era;
const capabilities = { elicitation: {}, sampling: {}, roots: { listChanged: true } };
const client = new Client({ name: 'tsv1-peer', version: '1.0.0' }, { capabilities });
client.setRequestHandler(types.ElicitRequestSchema, answers['elicitation/create']);
client.setRequestHandler(types.CreateMessageRequestSchema, answers['sampling/createMessage']);
client.setRequestHandler(types.ListRootsRequestSchema, answers['roots/list']);

const inbox = new Inbox();
const logs = [];
client.setNotificationHandler(types.LoggingMessageNotificationSchema, n => void logs.push([n.params.level, n.params.data]));
client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, n => inbox.put(n));
client.setNotificationHandler(types.ToolListChangedNotificationSchema, n => inbox.put(n));

const transport = isSse ? new SSEClientTransport(url) : url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport({ command, args, env });
let negotiated;
const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = version => {
    negotiated = version;
    setProtocolVersion?.(version);
};
await client.connect(transport);
const leave = async () => void (await transport.terminateSession?.());
await tour({ client, inbox, logs, leave, version: { negotiated: () => negotiated, schema: types.CallToolResultSchema } });
