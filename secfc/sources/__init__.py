"""Databases as sources of rows: PostgreSQL and SQLite (SQLAlchemy), files and databases of DuckDB's."""
