"""Ranked, language-fair recall: pure rules (lexemes, query, typos, rank) and their SQL (store, index)."""
