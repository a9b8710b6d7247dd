"""The methods that every endpoint has beside its own: RpcEndpoint includes them in its table."""

from jsonrpc.methods import MethodTable

everywhere = MethodTable()
