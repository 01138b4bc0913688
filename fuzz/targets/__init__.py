"""One file for each reader: `check(data)` raises if the reader does anything but accept or refuse the bytes.

`WORDS` are pieces that mutations put in; `MOST` is the length of the longest input, if it is not the usual one.
"""
