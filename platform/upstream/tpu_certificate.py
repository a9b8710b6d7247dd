"""The TLS certificate that names a Solana node by its key, on both ends of a TPU connection."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import Certificate, load_der_x509_certificate
from solders.keypair import Keypair
from solders.pubkey import Pubkey

_ED25519 = bytes.fromhex("300506032b6570")
_SERIAL = b"\x02\x08" + b"\x01" * 8
_ISSUER = bytes.fromhex("30163114301206035504030c0b") + b"Solana node"
_VALIDITY = b"\x30\x20\x17\x0d700101000000Z\x18\x0f40960101000000Z"
_EMPTY_NAME = b"\x30\x00"
_LOCALHOST = bytes.fromhex("30170603551d110101ff040d300b8209") + b"localhost"
_NOT_AN_AUTHORITY = bytes.fromhex("300c0603551d130101ff04023000")
# It is not checked: the handshake itself proves that the peer has the key.
_NO_SIGNATURE = b"\xff" * 64


def tls_identity(keypair: Keypair) -> tuple[Certificate, Ed25519PrivateKey]:
    """The certificate of a node with this identity, and its key for the handshake."""
    key = Ed25519PrivateKey.from_private_bytes(keypair.secret())
    return load_der_x509_certificate(certificate_der(keypair.pubkey())), key


def certificate_der(pubkey: Pubkey) -> bytes:
    """The certificate as every validator and its clients send it: 249 bytes."""
    public_key = _sequence(_ED25519, b"\x03\x21\x00", bytes(pubkey))
    extensions = b"\xa3\x29\x30\x27" + _LOCALHOST + _NOT_AN_AUTHORITY
    body = _sequence(
        b"\xa0\x03\x02\x01\x02",  # X.509 v3
        _SERIAL,
        _ED25519,
        _ISSUER,
        _VALIDITY,
        _EMPTY_NAME,
        public_key,
        extensions,
    )
    return _sequence(body, _ED25519, b"\x03\x41\x00", _NO_SIGNATURE)


def pubkey_of(certificate: Certificate) -> Pubkey | None:
    """The identity in the certificate; None if its key is of another type."""
    key = certificate.public_key()
    if not isinstance(key, Ed25519PublicKey):
        return None
    return Pubkey(key.public_bytes(Encoding.Raw, PublicFormat.Raw))


def _sequence(*parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    return b"\x30" + (bytes((size,)) if size < 0x80 else bytes((0x81, size))) + content
