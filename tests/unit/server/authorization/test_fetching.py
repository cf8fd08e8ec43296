import pytest

from tests.unit.server.authorization.issuer_server import issuer_server
from wigwag.errors import AuthorizationFailed, VerifierUnavailable
from wigwag.oauth.requests import get_request
from wigwag.oauth.steps import Flow, fetch
from wigwag.server.authorization.fetching import fetch_from, run_flow

pytestmark = pytest.mark.anyio


async def test_the_host_that_the_author_names_may_be_anywhere() -> None:
    async with issuer_server() as server:
        fetch = fetch_from([server.url], (), None)
        assert (await fetch(get_request(f"{server.url}/jwks"))).read_object() == {"keys": []}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("http://127.0.0.1:9/", "this machine"),
        ("https://10.1.2.3/jwks", "private network"),
        ("https://192.168.0.1/jwks", "private network"),
        ("https://[fd00::1]/jwks", "private network"),
        ("https://169.254.169.254/latest/meta-data", "no server of tokens is at"),
    ],
)
async def test_what_others_name_is_not_asked_inside_of_the_network(target: str, said: str) -> None:
    fetch = fetch_from(["https://as.example"], (), None)
    with pytest.raises(VerifierUnavailable, match=said):
        await fetch(get_request(target))


async def test_a_host_that_the_author_allows_may_be_asked() -> None:
    async with issuer_server() as server:
        fetch = fetch_from(["https://as.example"], ("127.0.0.1",), None)
        assert (await fetch(get_request(f"{server.url}/jwks"))).status == 200


async def test_a_flow_is_run_to_its_end() -> None:
    async with issuer_server() as server:

        def flow() -> Flow[int]:
            first = yield from fetch(get_request(f"{server.url}/jwks"))
            second = yield from fetch(get_request(f"{server.url}/none"))
            return first.status + second.status

        assert await run_flow(flow(), fetch_from([server.url], (), None)) == 604


async def test_a_flow_that_fails_says_nothing_about_the_token() -> None:
    def flow() -> Flow[int]:
        raise AuthorizationFailed("no metadata")
        yield

    with pytest.raises(VerifierUnavailable, match="no metadata"):
        await run_flow(flow(), fetch_from(["https://as.example"], (), None))
