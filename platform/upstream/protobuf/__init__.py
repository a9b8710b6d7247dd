"""Protobuf messages as validators publish them: the .proto files, and what protoc makes of them.

After a change: `make protobuf`.
"""
