"""Export: tables, captions, pictures and reports of what is shown."""
