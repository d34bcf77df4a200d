"""Who may be sent back what a vendor has signed."""

from linnet.core.messages import AssistantMessage
from linnet.core.models import Model


def signed_by(message: AssistantMessage, model: Model) -> bool:
    """Return whether this very model wrote the reply, through the same API: a signature convinces only its author.
    Replies that earlier versions have kept do not say which API it was.
    """
    same = message.provider == model.provider and message.model == model.id
    return same and (not message.api or not model.api or message.api == model.api)
