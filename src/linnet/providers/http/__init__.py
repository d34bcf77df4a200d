"""HTTP/1.1 as far as model servers need it: connect, send, read an event stream."""
