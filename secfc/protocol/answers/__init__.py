"""Answers of clients to the server's questions: gathered, checked, decoded."""
