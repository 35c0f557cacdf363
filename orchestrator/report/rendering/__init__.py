"""A document as a page, as Markdown and on the terminal."""
