"""Methods that every RPC endpoint serves besides its own: RpcEndpoint includes this table."""

from jsonrpc.methods import MethodTable

common_methods = MethodTable()
