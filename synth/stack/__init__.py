"""Embedded stores and the process supervisor: everything that runs before, or without, Django.

Nothing here imports Django or a third-party module, so that the supervisor stays small and starts at once.
"""
