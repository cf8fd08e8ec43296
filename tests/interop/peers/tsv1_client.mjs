// The official TypeScript SDK, first line: a client. Legacy era only.
import { Inbox, answers, options, require, tour } from './contract.mjs';

const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const types = require('@modelcontextprotocol/sdk/types.js');

const { command, args, env } = options();
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

const transport = new StdioClientTransport({ command, args, env });
let negotiated;
transport.setProtocolVersion = version => (negotiated = version);
await client.connect(transport);
await tour({ client, inbox, logs, version: { negotiated: () => negotiated, schema: types.CallToolResultSchema } });
