"""Sources of rows: text files, workbooks, PostgreSQL, SQLite, and files and databases of DuckDB."""
