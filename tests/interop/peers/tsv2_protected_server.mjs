// The official TypeScript SDK, second line: a server that wants tokens, as `protected.py` says.
import { createServer } from 'node:http';

import { listenerOf, require, text } from './contract.mjs';

const sdk = require('@modelcontextprotocol/server');
const { createRemoteJWKSet, jwtVerify } = require('jose');
const { z } = require('zod');

const [, , issuer] = process.argv;
const SCOPE = 'notes:read';
const oauthMetadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
const keys = createRemoteJWKSet(new URL(oauthMetadata.jwks_uri));

const verifier = url => ({
    async verifyAccessToken(token) {
        try {
            const { payload } = await jwtVerify(token, keys, { issuer, audience: url.href, algorithms: ['ES256'] });
            return {
                token,
                clientId: payload.client_id,
                scopes: (payload.scope ?? '').split(' '),
                expiresAt: payload.exp,
                resource: new URL(payload.aud),
                extra: { subject: payload.sub }
            };
        } catch {
            throw new sdk.OAuthError(sdk.OAuthErrorCode.InvalidToken, 'this token is not for here');
        }
    }
});

function build() {
    const server = new sdk.McpServer({ name: 'protected', version: '1.0.0' });
    server.registerTool('whoami', { inputSchema: z.object({}) }, async (_, ctx) => {
        const { extra, clientId, scopes } = ctx.http.authInfo;
        return text(JSON.stringify({ subject: extra.subject, client: clientId, scopes: scopes.toSorted() }));
    });
    return server;
}

let serve;
const server = createServer(listenerOf(request => serve(request)));
server.listen(0, '127.0.0.1', () => {
    const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
    const options = { verifier: verifier(url), expectedResource: url, requiredScopes: [SCOPE] };
    const gate = sdk.requireBearerAuth({ ...options, resourceMetadataUrl: sdk.getOAuthProtectedResourceMetadataUrl(url) });
    const handler = sdk.createMcpHandler(build, { legacy: 'stateless' });
    const about = { oauthMetadata, resourceServerUrl: url, scopesSupported: [SCOPE] };
    serve = async request => {
        const document = sdk.oauthMetadataResponse(request, about);
        if (document) return document;
        const authInfo = await gate(request);
        return authInfo instanceof Response ? authInfo : handler.fetch(request, { authInfo });
    };
    console.log(url.href);
});
