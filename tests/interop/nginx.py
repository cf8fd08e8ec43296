"""A real nginx, with a folder of its own and nothing of the machine's."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.interop import catalogue, services

CONFIGURATION = """
daemon off;
{user}
worker_processes 1;
pid {folder}/pid;
error_log stderr notice;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream wigwag {{
        {upstream}
    }}
    server {{
        listen 127.0.0.1:{port} {listen};
        {server}
    }}
}}
"""


@contextmanager
def before(
    urls: list[str],
    folder: Path,
    *,
    location: str = "/",
    target: str = "http://wigwag",
    settings: str = "",
    tls: Path | None = None,
) -> Iterator[str]:
    """Runs nginx before servers that listen at some URLs; gives its own URL, without a path.

    What `settings` do not change is as in nginx when it is new. The servers take turns.

    Args:
        urls: Where the servers are.
        folder: A folder for it alone.
        location: The prefix that is passed on.
        target: To what; `wigwag` are the servers.
        settings: More directives for the location.
        tls: A file with a certificate and its key, to be spoken to by TLS.
    """
    program = catalogue.nginx()
    assert program is not None
    [port] = services.free_ports(1)
    certificate = f"ssl_certificate {tls}; ssl_certificate_key {tls};" if tls else ""
    passed_on = f"location {location} {{ proxy_pass {target}; {settings} }}"
    text = CONFIGURATION.format(
        user="user root;" if _is_root() else "",
        folder=folder,
        upstream=" ".join(f"server {urlsplit(url).netloc};" for url in urls),
        port=port,
        listen="ssl" if tls else "",
        server=f"{certificate} {passed_on}",
    )
    file = folder / "nginx.conf"
    file.write_text(text)
    command = [program, "-p", str(folder), "-e", "stderr", "-c", str(file)]
    with services.running(command, announces="start worker process ") as (service, _):
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        assert service.end() == 0, "".join(service.said)


def _is_root() -> bool:
    return os.geteuid() == 0
