"""Disclosure "coded": the coordinator decodes distances and assigns, as in the paper."""
