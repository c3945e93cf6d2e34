"""Tools for tests: private stores, a scripted model host, fixtures."""
