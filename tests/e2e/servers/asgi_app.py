"""The web service as an application, alone and mounted, for whatever ASGI server runs it."""

import sys
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount

sys.path.insert(0, str(Path(__file__).parent))

from web import make_server  # type: ignore[import-not-found]  # beside this program

app = make_server(keep_alive=0.5).http_app(sse=True, health=True)

mounted = Starlette(
    routes=[Mount("/api", make_server(keep_alive=0.5).http_app(sse=True, health=True))]
)
