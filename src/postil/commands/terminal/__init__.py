"""What commands show on a terminal: tables, progress, colours."""
