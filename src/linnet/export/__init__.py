"""A session as a page to read and to share: entries in, one HTML document out. Nothing here goes to the network."""
