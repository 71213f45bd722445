"""The fast path of large files: words as places among bytes, without an object for each."""
