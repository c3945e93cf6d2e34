"""The REST layer: views translate between HTTP and services."""
