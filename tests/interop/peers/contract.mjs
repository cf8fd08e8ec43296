// The counterpart of contract.py for Node: what a server offers, and the tour that a client makes.
// INTEROP_MODULES names the folder whose node_modules hold the SDK.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export const require = createRequire(join(process.env.INTEROP_MODULES, 'anchor.js'));

export const MODERN = '2026-07-28';
export const INFO = { name: 'demo', version: '1.0.0' };
export const INSTRUCTIONS = 'A demonstration.';
export const QUESTION = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const NAMES = ['Ada', 'Alan', 'Grace'];
const STEP_MS = 20_000;

export const text = value => ({ content: [{ type: 'text', text: String(value) }] });

let hasGrown = false;
const cancellation = {};
cancellation.seen = new Promise(resolve => (cancellation.note = resolve));

const nap = (ms, signal) =>
    new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener('abort', () => {
            clearTimeout(timer);
            cancellation.note();
            reject(new Error('cancelled'));
        });
    });

// Registers everything but the questions to the client, which differ too much between the two SDKs.
// `about(extra)` gives `{ signal, meta, notify(notification), log(level, data) }` of the request being served.
// `news` is told of changes besides: over HTTP a server may live for one request only.
export function offer(server, z, about, news = {}) {
    const tool = (name, shape, run, more = {}) => server.registerTool(name, { inputSchema: z.object(shape), ...more }, run);
    tool('echo', { text: z.string() }, async a => text(a.text));
    tool('add', { a: z.number().int(), b: z.number().int() }, a => text(a.a + a.b));
    tool('fail', {}, () => {
        throw new Error('broken on purpose');
    });
    const weather = z.object({ city: z.string(), temperature: z.number(), conditions: z.string() });
    const report = city => ({ city, temperature: 21.5, conditions: 'sunny' });
    tool('weather', { city: z.string() }, a => ({ ...text(JSON.stringify(report(a.city))), structuredContent: report(a.city) }), {
        outputSchema: weather
    });
    tool('slow', { seconds: z.number(), steps: z.number().int().default(2) }, async ({ seconds, steps }, extra) => {
        const { signal, meta, notify } = about(extra);
        for (let step = 1; step <= steps; step++) {
            const params = { progressToken: meta?.progressToken, progress: step, total: steps, message: `step ${step} of ${steps}` };
            if (params.progressToken !== undefined) await notify({ method: 'notifications/progress', params });
            await nap((seconds * 1000) / steps, signal);
        }
        return text('done');
    });
    tool('wait_cancelled', {}, async () => {
        await cancellation.seen;
        return text('cancelled');
    });
    tool('log_something', {}, async (_, extra) => {
        await about(extra).log('info', 'something happened');
        await about(extra).log('warning', 'something odd happened');
        return text('logged');
    });
    tool('touch', {}, async () => {
        await server.server.sendResourceUpdated({ uri: 'demo://greeting' });
        news.touched?.();
        return text('touched');
    });
    tool('grow', {}, async () => {
        hasGrown = true;
        tool('grown', {}, () => text('grown'));
        news.grown?.();
        return text('grew');
    });
    if (hasGrown) tool('grown', {}, () => text('grown'));
}

// Resources and the prompt. `completable` and `ResourceTemplate` are the SDK's own; `shape` makes of the prompt's
// arguments what it wants of them.
export function publish(server, z, { completable, ResourceTemplate, shape }) {
    server.registerResource('greeting', 'demo://greeting', { mimeType: 'text/plain' }, async uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Hello, world!' }]
    }));
    const template = new ResourceTemplate('demo://users/{id}', { list: undefined });
    server.registerResource('user', template, { mimeType: 'application/json' }, async (uri, { id }) => ({
        contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ id, name: `User ${id}` }) }]
    }));
    const name = completable(z.string(), value => NAMES.filter(n => n.startsWith(value)));
    server.registerPrompt('greet', { argsSchema: shape({ name }) }, a => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${a.name}.` } }]
    }));
}

export function options() {
    const argv = process.argv.slice(2);
    const cut = argv.indexOf('--');
    const era = argv.indexOf('--era');
    const [command, ...args] = argv.slice(cut + 1);
    const url = command.startsWith('http://') ? new URL(command) : null;
    return { era: era >= 0 && era < cut ? argv[era + 1] : 'auto', command, args, env: process.env, url, isSse: !!url?.pathname.endsWith('/sse') };
}

// How to serve over HTTP, if so.
export const httpKind = () => (process.argv[2] === '--http' ? process.argv[3] : null);

// Serves with a Node listener at a free port, and says where.
export function serveHttp(listener, path) {
    const server = createServer(listener);
    server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}${path}`));
}

// A Node listener of a function from Request to Response.
export const listenerOf = serve => async (req, res) => {
    const gone = new AbortController();
    res.on('close', () => gone.abort());
    const hasBody = !['GET', 'HEAD', 'DELETE'].includes(req.method);
    const request = new Request(new URL(req.url, `http://${req.headers.host}`), {
        method: req.method,
        headers: Object.entries(req.headers),
        signal: gone.signal,
        ...(hasBody && { body: Readable.toWeb(req), duplex: 'half' })
    });
    const response = await serve(request);
    res.writeHead(response.status, Object.fromEntries(response.headers));
    res.flushHeaders();
    if (!response.body) return res.end();
    await pipeline(Readable.fromWeb(response.body), res).catch(() => undefined); // the client has gone
};

// The client's side of every question that a server may ask.
export const answers = {
    'elicitation/create': async ({ params }) => ({ action: 'accept', content: { name: `Ada, asked '${params.message}'` } }),
    'sampling/createMessage': async ({ params }) => {
        const [message] = params.messages;
        const content = Array.isArray(message.content) ? message.content[0] : message.content;
        return { role: 'assistant', model: 'demo-model', stopReason: 'endTurn', content: { type: 'text', text: content.text.toUpperCase() } };
    },
    'roots/list': async () => ({ roots: [{ uri: 'file:///demo', name: 'demo' }] })
};

// Notifications arrive in `inbox` (a queue with an async `take`) and in `logs`.
export class Inbox {
    #items = [];
    #waiting = [];
    put(item) {
        const next = this.#waiting.shift();
        next ? next(item) : this.#items.push(item);
    }
    take() {
        return this.#items.length ? Promise.resolve(this.#items.shift()) : new Promise(resolve => this.#waiting.push(resolve));
    }
}

const within = (ms, promise) => {
    let timer;
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`nothing within ${ms} ms`)), ms)));
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

export const UNSUPPORTED = Symbol('unsupported');

// Takes every step of the contract with an SDK's client, and prints the report.
export async function tour({ client, version, inbox, logs, listen, leave }) {
    const report = {};
    const step = async (name, act) => {
        try {
            const value = await within(STEP_MS, act());
            report[name] = value === UNSUPPORTED ? { unsupported: true } : (value ?? null);
        } catch (error) {
            report[name] = { error: error.name, code: error.code ?? null, message: error.message };
        }
    };
    const call = async (name, args = {}, { logLevel, ...options } = {}) => {
        const _meta = logLevel ? { 'io.modelcontextprotocol/logLevel': logLevel } : undefined;
        const result = await client.callTool({ name, arguments: args, ...(_meta && { _meta }) }, ...callOptions(options));
        const texts = result.content.filter(block => block.type === 'text').map(block => block.text);
        return { text: texts.join('\n'), structured: result.structuredContent ?? null, is_error: result.isError ?? false };
    };
    // The first SDK has a result schema between the parameters and the options.
    const callOptions = options => (version.schema ? [version.schema, options] : [options]);
    const tools = async () =>
        (await client.listTools()).tools.map(t => ({ name: t.name, input: t.inputSchema, output: t.outputSchema ?? null }));
    const grown = async () => (await tools()).some(t => t.name === 'grown');

    // A step that begins with one tool is taken if the server has it.
    const callStep = async (name, tool, act) => {
        if (Array.isArray(report.tools) && !report.tools.some(t => t.name === tool)) report[name] = { unsupported: true };
        else await step(name, act);
    };

    const info = client.getServerVersion();
    report.protocol_version = version.negotiated();
    report.server = info ? [info.name, info.version] : null;
    report.instructions = client.getInstructions() ?? null;
    report.capabilities = client.getServerCapabilities() ?? {};
    const modern = report.protocol_version === MODERN;

    await step('tools', tools);
    await step('echo', () => call('echo', { text: 'grüße, 世界 \u2028\n"🚩"' }));
    await step('add', () => call('add', { a: 2, b: 3 }));
    await step('weather', () => call('weather', { city: 'Oslo' }));
    await step('fail', () => call('fail'));
    await step('unknown_tool', () => call('nonesuch'));
    await step('wrong_argument', () => call('add', { a: 'two', b: 3 }));
    await step('missing_argument', () => call('add', { a: 2 }));
    const progress = [];
    const onprogress = p => progress.push([p.progress, p.total ?? null, p.message ?? null]);
    await step('slow', () => call('slow', { seconds: 0.15, steps: 3 }, { onprogress }));
    report.progress = progress;
    await step('cancel', async () => {
        const abort = new AbortController();
        const begun = call('slow', { seconds: 60 }, { signal: abort.signal, onprogress: () => abort.abort() });
        await begun.catch(() => undefined);
        return call('wait_cancelled');
    });
    await step('concurrent', async () => {
        const calls = Array.from({ length: 20 }, (_, n) => call('echo', { text: `number ${n}` }));
        return (await Promise.all(calls)).map(outcome => outcome.text);
    });

    const read = async uri => (await client.readResource({ uri })).contents.map(c => [c.uri, c.mimeType ?? null, c.text]);
    const get = async (name, args) => (await client.getPrompt({ name, arguments: args })).messages.map(m => [m.role, m.content.text]);
    await step('resources', async () => (await client.listResources()).resources.map(r => r.uri));
    await step('templates', async () => (await client.listResourceTemplates()).resourceTemplates.map(t => t.uriTemplate));
    await step('read_greeting', () => read('demo://greeting'));
    await step('read_user', () => read('demo://users/7'));
    await step('read_missing', () => read('demo://nonesuch'));
    await step('prompts', async () => (await client.listPrompts()).prompts.map(p => [p.name, (p.arguments ?? []).map(a => a.name)]));
    await step('get_prompt', () => get('greet', { name: 'Ada' }));
    await step('unknown_prompt', () => get('nonesuch', {}));
    await step('prompt_without_argument', () => get('greet', {}));
    await step('complete', async () => {
        const ref = { type: 'ref/prompt', name: 'greet' };
        const { completion } = await client.complete({ ref, argument: { name: 'name', value: 'A' } });
        return { values: completion.values, total: completion.total ?? null, has_more: completion.hasMore ?? null };
    });
    await callStep('ask_name', 'ask_name', () => call('ask_name'));
    await callStep('ask_model', 'ask_model', () => call('ask_model', { prompt: 'hello' }));
    await callStep('ask_roots', 'ask_roots', () => call('ask_roots'));

    const logged = async (suffix, level, set) => {
        if (set) await step(`set_level_${suffix}`, async () => void (await client.setLoggingLevel(level)));
        logs.length = 0;
        await step(`log_at_${suffix}`, () => call('log_something', {}, set ? {} : { logLevel: level }));
        report[`logs_at_${suffix}`] = [...logs];
    };
    if (!modern) await step('ping', async () => !!(await client.ping()));
    await logged('warning', 'warning', !modern);
    await logged('debug', 'debug', !modern);
    if (modern) {
        await callStep('updated', 'touch', async () => {
            const subscription = await listen({ resourceSubscriptions: ['demo://greeting'] });
            await call('touch');
            const { params } = await inbox.take();
            await subscription.close();
            return params.uri;
        });
        await callStep('grown', 'grow', async () => {
            const subscription = await listen({ toolsListChanged: true });
            await call('grow');
            const { method } = await inbox.take();
            await subscription.close();
            return [method === 'notifications/tools/list_changed', await grown()];
        });
    } else {
        await callStep('updated', 'touch', async () => {
            await client.subscribeResource({ uri: 'demo://greeting' });
            await call('touch');
            const { method } = await inbox.take();
            await client.unsubscribeResource({ uri: 'demo://greeting' });
            return method;
        });
        await callStep('grown', 'grow', async () => {
            await call('grow');
            const { method } = await inbox.take();
            return [method, await grown()];
        });
        await step('after_roots_changed', async () => {
            await client.sendRootsListChanged();
            return !!(await client.ping());
        });
    }
    await leave?.();
    await client.close();
    console.log(JSON.stringify(report));
}
