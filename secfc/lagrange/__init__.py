"""Lagrange coding: evaluation points, basis polynomials, encoding into shares and decoding."""
