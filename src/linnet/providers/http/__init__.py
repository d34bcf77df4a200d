"""An HTTP/1.1 client as far as model servers need one: it connects, sends, and reads an event stream."""
