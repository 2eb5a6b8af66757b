"""The site of the documents: pages made from code, pages from outside ``docs/``, and checks of what was built."""
