"""litellm's proxy, which translates between vendors' APIs and which nobody here wrote, in front of a scripted model."""

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

PROGRAM = Path(sys.prefix) / "litellm" / "bin" / "litellm"
KEY = "sk-proxy"
BACKENDS = {"to-anthropic": "anthropic/claude-sonnet-4-5", "to-openai": "openai/gpt-4.1"}
"""Models of the proxy, and what is asked behind it."""


@contextmanager
def running(backend: str, folder: Path) -> Iterator[str]:
    """Run the proxy on a port that the system chooses, and yield its URL. `backend` is the scripted model's."""
    if not PROGRAM.exists():
        reason = "litellm's proxy is not installed: `make .venv/.litellm` does it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    config = folder / "config.yaml"
    config.write_text(
        json.dumps(  # Which is YAML, too.
            {
                "model_list": [
                    {
                        "model_name": name,
                        "litellm_params": {"model": model, "api_base": url, "api_key": "k", "max_retries": 0},
                    }
                    for (name, model), url in zip(BACKENDS.items(), (backend, f"{backend}/v1"), strict=True)
                ],
                "litellm_settings": {
                    "num_retries": 0,
                    "telemetry": False,
                    "use_chat_completions_url_for_anthropic_messages": True,
                },
                "router_settings": {"disable_cooldowns": True},
                "general_settings": {"master_key": KEY},
            }
        )
    )
    command = [str(PROGRAM), "--config", str(config), "--host", "127.0.0.1", "--port", "0"]
    environ = {
        **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
        "HOME": str(folder),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "DISABLE_ADMIN_UI": "True",
        "PYTHONUNBUFFERED": "1",
    }
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ, cwd=folder
    ) as proxy:
        assert proxy.stdout is not None
        said = deque[str](maxlen=50)
        try:
            for line in proxy.stdout:
                said.append(line)
                if "Uvicorn running on" in line:
                    break
            else:
                pytest.fail(f"the proxy has ended: {''.join(said)}")
            Thread(target=said.extend, args=(proxy.stdout,)).start()  # A pipe that is full would stop it.
            yield line.partition("running on ")[2].split()[0]
        finally:
            proxy.kill()
            proxy.wait()
