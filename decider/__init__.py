"""Whether to speak first. Empty until its issue is built."""
