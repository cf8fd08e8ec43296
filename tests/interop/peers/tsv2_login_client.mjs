// The official TypeScript SDK, second line: a client that logs in, as `protected.py` says.
// With `dpop` after the URL its tokens are bound to a key, and it says what kind they are.
import { require } from './contract.mjs';
import { logIn } from './login.mjs';

const { Client, DpopSession, StreamableHTTPClientTransport, UnauthorizedError } = require('@modelcontextprotocol/client');

const [, , address, ...words] = process.argv;
const url = new URL(address);

class Provider {
    redirectUrl = 'http://127.0.0.1:33418/callback';
    kept = {};

    get clientMetadata() {
        return { client_name: 'tsv2-peer', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none' };
    }
    clientInformation = () => this.kept.client;
    saveClientInformation = client => void (this.kept.client = client);
    tokens = () => this.kept.tokens;
    saveTokens = tokens => void (this.kept.tokens = tokens);
    codeVerifier = () => this.kept.verifier;
    saveCodeVerifier = verifier => void (this.kept.verifier = verifier);
    async redirectToAuthorization(to) {
        this.back = await logIn(to);
    }
}

const provider = new Provider();
if (words.includes('dpop')) {
    const session = DpopSession.create();
    provider.dpop = () => session;
}
let client;
let transport;

async function connect() {
    client = new Client({ name: 'tsv2-peer', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
    await client.connect(transport);
}

// The SDK stops where a user has to log in, and wants to be called again.
async function authorized(act) {
    try {
        return await act();
    } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error;
        await transport.finishAuth(provider.back.searchParams);
        return await act();
    }
}

await authorized(connect);
const call = async name => (await authorized(() => client.callTool({ name, arguments: {} }))).content[0].text;
const report = { whoami: JSON.parse(await call('whoami')) };
if (words.includes('write')) {
    report.write = await call('write');
    report['whoami again'] = JSON.parse(await call('whoami'));
}
if (words.includes('dpop')) report.scheme = provider.kept.tokens.token_type;
console.log(JSON.stringify(report));
await client.close();
