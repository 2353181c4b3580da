"""Chats: messages written by a tokenizer's own template, their turns, and what each turn is to a reply."""
