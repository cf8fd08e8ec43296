"""What the ways of OAuth refuse at once, before anybody is asked anything."""

from typing import Any

import pytest

from wigwag.client.authorization.oauth import ClientCredentials, OAuth
from wigwag.stores.memory_tokens import MemoryTokenStore

pytestmark = pytest.mark.anyio

URL = "https://mcp.example/mcp"


class Collection(MemoryTokenStore):
    """A store that has a length, as collections do."""

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"store": "credentials"}, "`store` is a TokenStore"),
        ({"login": "browser"}, "`login` is a function"),
        ({"key": 5}, "`key` is the file or the text"),
        ({"client_id": "a", "client_secret": b"hidden"}, "a secret is text, not bytes"),
    ],
)
def test_what_is_of_another_type_is_told_where_it_is_written(
    option: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError, match=said) as refused:
        OAuth(**option)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"client_metadata_url": "http://a.example/client.json"}, "is https and has a path"),
        ({"client_id": "a", "issuer": "login.example"}, "'login.example' is no issuer"),
        ({"issuer": "https://login.example"}, "an `issuer` is where a `client_id` is registered"),
        ({"timeout": 0}, "`timeout` is more than 0 seconds"),
    ],
)
def test_what_cannot_be_used_is_told_where_it_is_written(option: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OAuth(**option)


async def test_a_store_that_is_empty_is_the_store_all_the_same() -> None:
    store = Collection()
    ready = await ClientCredentials("a", "b", store=store).ready(URL)
    assert ready.steps.store is store
