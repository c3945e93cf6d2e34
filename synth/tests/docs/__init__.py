"""Tests that the pages in docs/ say what the code does."""
