"""A run as one page: self-contained HTML for the people who sign it off, and tables for notebooks."""
