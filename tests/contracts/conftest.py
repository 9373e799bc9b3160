"""What the contract tests need before they are collected."""

import pytest

# So that a check that fails shows both sides.
pytest.register_assert_rewrite("contracts.checks")
