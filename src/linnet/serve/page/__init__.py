"""The page of `linnet serve`: static files, as browsers get them, and the policy that they are sent with.

`index.html` is sent for `/`, everything else for `/page/NAME`. There is no build step and no other Python. What agents
say is hostile: the page shows it as text and never as HTML, and should it fail to, the policy allows nothing that was
not sent from here.
"""

from typing import Final

# Pictures of a conversation, and the icon with its number, are made in the page: they are `blob:` URLs. Browsers that
# know Trusted Types refuse to make HTML of a string at all.
CSP: Final = (
    "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
