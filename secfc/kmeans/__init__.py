"""Lloyd's iterations on clients and server: coded distances, exact comparison, relocation, starts, search."""
