import pytest

# A program that a test starts, not a module of tests.
collect_ignore = ["relay.py"]

pytest.register_assert_rewrite(
    "tests.contract.connection_contract", "tests.contract.token_store_contract"
)
