"""The attacks, in the order of their files' names; after each file comes a look at how all are."""
