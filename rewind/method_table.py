"""The table of the archive's RPC methods."""

from jsonrpc.methods import MethodTable

methods = MethodTable()
