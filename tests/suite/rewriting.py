"""Keeps pytest from rewriting the product, as it does with all of a package that brings a plugin.

Modules are imported late, in any thread, and two threads that parse at once fail now and then in Python 3.11 (a
SystemError, "AST constructor recursion depth mismatch"). Only `linnet.testing` has assertions for people to read.
"""

from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    hook: Any = config.pluginmanager.rewrite_hook
    hook._must_rewrite.discard("linnet")
    hook._must_rewrite.add("linnet.testing")
    hook._marked_for_rewrite_cache.clear()
