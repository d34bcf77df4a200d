"""An agent with extensions in TypeScript that a test writes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent
from tests.extensions.node.bench import Driven, node


@pytest.fixture
def extended(pi: Callable[..., Agent], tmp_path: Path) -> Callable[..., Driven]:
    """Start an agent with this source as an extension: the body of its factory, after what it imports."""

    def start(body: str, *flags: str, imports: str = "", answers: Any = lambda frame: None, **options: Any) -> Driven:
        file = tmp_path / "mine.ts"
        file.write_text(f"{imports}\nexport default async function (pi: any) {{\n{body}\n}}\n")
        env = {"LINNET_NODE": node(), **options.pop("env", {})}
        return Driven(pi("-e", str(file), *flags, env=env, **options), answers)

    return start
