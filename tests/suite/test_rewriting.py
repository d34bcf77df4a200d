"""The product is imported as its users import it."""

import linnet.runtime.jobs
import linnet.testing.log_contract


def test_only_what_is_for_tests_is_rewritten_by_pytest() -> None:
    assert type(linnet.runtime.jobs.__loader__).__name__ == "SourceFileLoader"
    assert type(linnet.testing.log_contract.__loader__).__name__ == "AssertionRewritingHook"
