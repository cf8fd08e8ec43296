import pytest

from wigwag.oauth.metadata import read_protected_resource
from wigwag.oauth.resource_documents import check_resource, create_resource_document
from wigwag.oauth.urls import read_url

RESOURCE = "https://mcp.example/mcp"


def test_the_least_that_a_server_says_is_who_it_is_and_who_issues_its_tokens() -> None:
    assert create_resource_document(RESOURCE, ["https://as.example"]) == {
        "resource": RESOURCE,
        "authorization_servers": ["https://as.example"],
        "bearer_methods_supported": ["header"],
    }


def test_all_that_a_server_can_say_has_the_names_of_the_standard() -> None:
    document = create_resource_document(
        RESOURCE,
        ["https://as.example/", "https://b.example"],
        scopes=["read", "offline_access", "read", 'no"scope'],
        name="Files",
        documentation="https://mcp.example/docs",
        dpop_algorithms=("ES256",),
        is_dpop_required=True,
    )
    assert document == {
        "resource": RESOURCE,
        "authorization_servers": ["https://as.example/", "https://b.example"],
        "scopes_supported": ["read"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Files",
        "resource_documentation": "https://mcp.example/docs",
        "dpop_signing_alg_values_supported": ["ES256"],
        "dpop_bound_access_tokens_required": True,
    }


def test_a_client_takes_what_a_server_says() -> None:
    document = create_resource_document(
        RESOURCE, ["https://as.example"], scopes=["a"], is_dpop_required=True
    )
    found = read_protected_resource(document, "https://x.example", read_url(RESOURCE))
    assert found.resource == RESOURCE
    assert found.authorization_servers == ("https://as.example",)
    assert found.scopes_supported == ("a",)
    assert found.dpop_bound_access_tokens_required


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        ("mcp.example/mcp", "does not begin with https"),
        ("https://mcp.example/mcp#part", "fragment"),
        ("https://mcp.example/mcp#", "fragment"),
        ("https://me:pw@mcp.example/", "user name"),
    ],
)
def test_what_cannot_name_a_server_is_refused(resource: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_resource(resource)
    with pytest.raises(ValueError, match=said):
        create_resource_document(resource, ["https://as.example"])


def test_a_protected_server_has_an_issuer() -> None:
    with pytest.raises(ValueError, match="name its issuer"):
        create_resource_document(RESOURCE, [])
