// A real authorization server: oidc-provider, with a page to log in and what its tests want to see and change.
//
// It is called with one JSON object, prints its issuer on one line, and serves until it is ended:
//
// - `scopes`: what its resources know, one text; `ttl`: the lifetime of access tokens in seconds;
// - `registering`: what a client says of scopes when it registers counts for nothing (`free`), is all that it may
//   ask for later (`bound`), or must not name the scopes of resources (`strict`);
// - `opaque`: whether access tokens say nothing by themselves, instead of being JWTs;
// - `nonces`: whether proofs of DPoP must repeat a nonce of this server;
// - `clients`: those that were registered by hand;
// - `documents`: client metadata documents, by URL: they are not fetched from anywhere else.
//
// `GET /seen` lists what it was asked for and how that ended, since `POST /forget`, and `POST /revoke` takes back
// everything that it has issued, as a user may want.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const entry = join(process.env.INTEROP_MODULES, 'node_modules/oidc-provider/lib/index.js');
const { Provider } = await import(pathToFileURL(entry));

const settings = { scopes: '', ttl: 3600, registering: 'free', opaque: false, nonces: false, clients: [], documents: {}, ...JSON.parse(process.argv[2]) };
const seen = [];
const issued = [];

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const resource = identifier => ({
    scope: settings.scopes,
    audience: identifier,
    accessTokenTTL: settings.ttl,
    accessTokenFormat: settings.opaque ? 'opaque' : 'jwt',
    ...(settings.opaque ? {} : { jwt: { sign: { alg: 'ES256' } } })
});

function fetchDocument(url) {
    const document = settings.documents[url];
    if (!document) throw new Error(`there is no document at ${url}`);
    return new Response(JSON.stringify(document), { headers: { 'content-type': 'application/json' } });
}

function configuration() {
    return {
        clients: settings.clients,
        clientDefaults: { id_token_signed_response_alg: 'ES256' },
        cookies: { keys: [randomBytes(16).toString('hex')] },
        features: {
            clientCredentials: { enabled: true },
            clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
            devInteractions: { enabled: true },
            dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => settings.nonces },
            introspection: { enabled: true },
            registration: { enabled: true },
            resourceIndicators: { enabled: true, getResourceServerInfo: (_, identifier) => resource(identifier) },
            revocation: { enabled: true }
        },
        fetch: fetchDocument,
        findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
        jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'first', use: 'sig' }] },
        pkce: { required: () => true },
        rotateRefreshToken: true,
        scopes: ['openid', 'offline_access', ...(settings.registering === 'bound' ? settings.scopes.split(' ') : [])]
    };
}

function start(issuer) {
    const provider = new Provider(issuer, configuration());
    provider.use(async (ctx, next) => {
        if (settings.registering === 'free' && ctx.path === '/reg') {
            const { scope, ...rest } = JSON.parse(await bodyOf(ctx.req));
            ctx.req.body = rest;
        }
        await next();
    });
    provider.use(async (ctx, next) => {
        await next();
        const { route, params, entities } = ctx.oidc ?? {};
        if (!route || ['discovery', 'jwks'].includes(route)) return;
        seen.push({ route, status: ctx.status, client: entities.Client?.clientId, grant: params?.grant_type, error: ctx.body?.error });
    });
    provider.on('grant.success', ctx => {
        const { AccessToken, RefreshToken, Grant } = ctx.oidc.entities;
        issued.push(...[AccessToken, RefreshToken, Grant].filter(Boolean));
    });
    return provider.callback();
}

async function bodyOf(request) {
    let body = '';
    for await (const part of request) body += part;
    return body;
}

async function control(request, answer) {
    if (request.url === '/forget') seen.length = 0;
    if (request.url === '/revoke') await Promise.all(issued.splice(0).map(each => each.destroy()));
    answer.setHeader('content-type', 'application/json').end(JSON.stringify(seen));
}

let provide;
const server = createServer((request, answer) =>
    ['/seen', '/forget', '/revoke'].includes(request.url) ? control(request, answer) : provide(request, answer)
);
server.listen(0, '127.0.0.1', () => {
    const issuer = `http://127.0.0.1:${server.address().port}`;
    provide = start(issuer);
    console.log(`issuer ${issuer}`);
});
