"""System 1: cheap typed questions. Empty until its issue is built."""
