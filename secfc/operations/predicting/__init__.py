"""Predictions: the nearest mean of new rows, where only owners know the labels of the other rows."""
