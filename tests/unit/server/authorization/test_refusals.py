from wigwag.server.authorization.refusals import AuthenticationRefused


def test_a_refusal_tells_the_log_more_than_the_client_where_there_is_more() -> None:
    refused = AuthenticationRefused(401, "invalid_token", "it is not valid", reason="of nobody")
    assert (str(refused), refused.description) == ("of nobody", "it is not valid")
    assert str(AuthenticationRefused(400, "invalid_request", "two headers")) == "two headers"
