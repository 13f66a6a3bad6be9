"""The ring Z_Q as a product of 24-bit prime fields: residues, fixed point, packing, CRT."""
