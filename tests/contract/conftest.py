import pytest

# Programs that tests start, not modules of tests.
collect_ignore = ["lock_holder.py", "relay.py"]

pytest.register_assert_rewrite(
    "tests.contract.connection_contract", "tests.contract.token_store_contract"
)
