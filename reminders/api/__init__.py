"""REST of the inbox."""
