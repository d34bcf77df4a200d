"""The interface by which extensions see what is sent to a vendor, and what comes back."""

from collections.abc import Mapping
from typing import Any, Protocol

from linnet.core.cancel import Cancel
from linnet.core.models import Model


class Watch(Protocol):
    """Sees requests as they are spelled, and replies as they come. Called in the thread of the run."""

    def asked(self, payload: Any, model: Model, cancel: Cancel) -> Any:
        """Return the JSON that is sent instead of this. Raises Cancelled."""

    def headers(self, headers: dict[str, str], cancel: Cancel) -> Mapping[str, str | None]:
        """Return the headers that are sent as well as those of the API; None for one that is not to be sent at all.
        Given are those that the user has set, without secrets. Raises Cancelled.
        """

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Take note of how a reply begins."""

    def heard(self, payload: bytes, model: Model) -> None:
        """Take note of one event of a reply, in the vendor's own words."""
