"""A user without a browser, who logs in at the authorization server of `oidc_provider.mjs`.

    python login.py URL

It follows pages and forms from the URL on, until it has been where the client waits: it can be what
`BROWSER` names. Standard library only: each peer's own Python imports it.
"""

import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPMessage
from http.cookiejar import CookieJar
from typing import IO, Any

MAX_STEPS = 20
SECONDS = 20


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


def _get(opener: urllib.request.OpenerDirector, url: str, form: bytes | None) -> Any:
    try:
        return opener.open(url, form, SECONDS)
    except urllib.error.HTTPError as answer:
        if answer.code >= 400:
            raise AssertionError(f"{url} answers {answer.code}: {answer.read()!r}") from None
        return answer


def log_in(url: str, name: str = "ada") -> str:
    """Logs in, agrees to what is asked, and returns the URL that a browser is then sent to."""
    jar = urllib.request.HTTPCookieProcessor(CookieJar())
    opener = urllib.request.build_opener(_NoRedirects, jar)
    host = urllib.parse.urlsplit(url).netloc
    form = None
    for _ in range(MAX_STEPS):
        with _get(opener, url, form) as answer:
            page = answer.read().decode()
            target = answer.headers["location"]
        form = None
        if target is None:
            [target] = re.findall(r'<form[^>]* action="([^"]+)"', page)
            [prompt] = re.findall(r'name="prompt" value="(\w+)"', page)
            fields = {"prompt": prompt, "login": name, "password": name}
            form = urllib.parse.urlencode(fields).encode()
        url = urllib.parse.urljoin(url, target)
        if urllib.parse.urlsplit(url).netloc != host:
            return url
    raise AssertionError(f"the login does not end: {url}")


def go_back(url: str) -> None:
    """Goes where the client waits, as soon as it does."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            urllib.request.urlopen(url, timeout=SECONDS).close()
        except urllib.error.URLError as error:
            if isinstance(error, urllib.error.HTTPError) or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


if __name__ == "__main__":
    go_back(log_in(sys.argv[1]))
