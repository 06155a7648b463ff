"""The command line: parse, one call into a service, render. Nothing here decodes, downloads or decides.

`main.py` is the program; each command is a module of its own whose heavy imports happen when it is invoked.
"""
