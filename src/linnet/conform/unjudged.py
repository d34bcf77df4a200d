"""Promises of the documents that no check can judge from outside, each with the reason."""

from collections.abc import Mapping
from typing import Final

_SDK = "it is about an SDK in the same process, and a program on a pipe has none that could be seen"
_CLIENTS = "it is about clients, and what is judged is the agent"
_MODE = "it is about another mode of the program, and the command that is judged starts this one"
_EXTENSIONS = "it needs an extension, and each program loads those of its own kind from a place of its own"
_TEMPLATES = "it needs a template, and each program looks for them in a place of its own"

UNJUDGED: Final[Mapping[str, str]] = {
    "zot.process.many": "every run of the kit has a folder and a home of its own, and shares nothing by that",
    "zot.flag.shared": _MODE,
    "zot.start.key-file": "where the file is, each program decides for itself",
    "zot.client.shell-python-node-go": _CLIENTS,
    "zot.client.token": _CLIENTS,
    "zot.sdk.prompt": _SDK,
    "zot.sdk.mirrors-the-wire": _SDK,
    "zot.sdk.cancel": _SDK,
    "zot.sdk.compact": _SDK,
    "zot.sdk.set-model": _SDK,
    "zot.sdk.queries": _SDK,
    "zot.sdk.close": _SDK,
    "zot.sdk.busy": _SDK,
    "zot.sdk.threads": _SDK,
    "zot.sdk.several": _SDK,
    "zot.sdk.examples": _SDK,
    "zot.json-mode": _MODE,
    "zot.docs.schema": "it is about documentation",
    "zot.version.grows": "it is about one version beside another, and only one is there",
    "pi.process.clients": _CLIENTS,
    "pi.templates.expanded": _TEMPLATES,
    "pi.templates.queued": _TEMPLATES,
    "pi.event.hook_error": _EXTENSIONS,
    "pi.extension.command": _EXTENSIONS,
    "pi.extension.command-not-queued": _EXTENSIONS,
    "pi.extension.cancelled-move": _EXTENSIONS,
    "pi_legacy.compaction.reserve": "it needs a model whose context is small, and each program has models of its own",
}
