"""Deposits in an agreed job: who may deposit, what is held, where it is stored."""
