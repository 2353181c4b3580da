"""Coding: attention in one or two bytes a number, with an error that is known."""
