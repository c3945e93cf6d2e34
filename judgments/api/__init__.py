"""The REST addresses of judgments, and the System One server."""
