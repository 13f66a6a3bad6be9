"""Lagrange coding: evaluation points, basis polynomials, shares and what recovers them."""
