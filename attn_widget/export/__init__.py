"""What a widget gives away: tables, pictures, and the caption that says what they are of."""
