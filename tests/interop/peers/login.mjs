// The counterpart of login.py for Node: logs in by following pages and forms, and says where that ends.
const MAX_STEPS = 20;

export async function logIn(start, name = 'ada') {
    const { host } = new URL(start);
    const cookies = new Map();
    let url = new URL(start);
    let form;
    for (let step = 0; step < MAX_STEPS; step++) {
        const cookie = [...cookies].map(([key, value]) => `${key}=${value}`).join('; ');
        const answer = await fetch(url, { method: form ? 'POST' : 'GET', body: form, headers: { cookie }, redirect: 'manual' });
        const page = await answer.text();
        if (answer.status >= 400) throw new Error(`${url} answers ${answer.status}: ${page}`);
        for (const line of answer.headers.getSetCookie()) {
            const [, key, value] = line.match(/^([^=]+)=([^;]*)/);
            value ? cookies.set(key, value) : cookies.delete(key);
        }
        let target = answer.headers.get('location');
        form = undefined;
        if (!target) {
            [, target] = page.match(/<form[^>]* action="([^"]+)"/);
            const [, prompt] = page.match(/name="prompt" value="(\w+)"/);
            form = new URLSearchParams({ prompt, login: name, password: name });
        }
        url = new URL(target, url);
        if (url.host !== host) return url;
    }
    throw new Error(`the login does not end: ${url}`);
}
