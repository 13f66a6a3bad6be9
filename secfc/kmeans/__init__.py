"""Lloyd's iterations seen from both sides: coded distances, exact comparison, relocation, starts, search."""
