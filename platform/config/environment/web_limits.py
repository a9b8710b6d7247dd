"""Settings of the web server: its processes, its threads, and what it grants to clients."""

from config.environment import env

# Bytes of the answer to one body, and of all answers to one key that a process holds at a time: a
# call whose result does not fit any more is refused and not built.
MAX_ANSWER = env.integer("MAX_ANSWER_MB", 64, minimum=1) * 1_048_576
MAX_ANSWERS_OF_KEY = env.integer("MAX_ANSWERS_OF_KEY_MB", 192, minimum=1) * 1_048_576
# The bytes of a body to simulateHistoricalTransaction from a key that has the scope `simulate`:
# overrides may hold programs, and one of 10 MB packed with zstd takes some 5 MB in base64.
MAX_LARGE_BODY = env.integer("MAX_LARGE_BODY", 12_582_912, minimum=4_096)
# Web processes, and in each the threads for quick calls and for expensive ones (a block, many
# accounts, a simulation); expensive calls of one key that run at once, and that wait.
WEB_WORKERS = env.integer("WEB_WORKERS", 2, minimum=1, maximum=64)
WEB_THREADS = env.integer("WEB_THREADS", 8, minimum=1, maximum=64)
DEAR_CALLS = env.integer("DEAR_CALLS", 4, minimum=1, maximum=64)
DEAR_CALLS_OF_KEY = env.integer("DEAR_CALLS_OF_KEY", 3, minimum=1, maximum=64)
DEAR_CALLS_WAITING = env.integer("DEAR_CALLS_WAITING", 128, minimum=1)
# Connections of a web process to the upstream node; calls of one key have three of four at most.
PROXY_CONNECTIONS = env.integer("PROXY_CONNECTIONS", 32, minimum=1, maximum=1_024)
# Connections in all and of one address (a trusted proxy's are not counted), and how long the head
# and the body of a request may take.
MAX_CONNECTIONS = env.integer("MAX_CONNECTIONS", 8_192, minimum=16)
MAX_CONNECTIONS_PER_ADDRESS = env.integer("MAX_CONNECTIONS_PER_ADDRESS", 1_024, minimum=1)
# The port behind PORT is served too: web3.js looks for WebSockets there.
WEBSOCKET_NEXT_PORT = env.boolean("WEBSOCKET_NEXT_PORT", True)
REQUEST_HEAD_SECONDS = env.integer("REQUEST_HEAD_SECONDS", 10, minimum=1, maximum=120)
REQUEST_BODY_SECONDS = env.integer("REQUEST_BODY_SECONDS", 15, minimum=1, maximum=300)
# The service geyser.Geyser (Yellowstone gRPC), on the address of HOST; 0 serves none.
GRPC_PORT = env.integer("GRPC_PORT", 0, maximum=65_535)
# Whether the stream that is followed is asked for entries, which only gRPC's streams are sent.
FOLLOW_ENTRIES = env.boolean("FOLLOW_ENTRIES", GRPC_PORT > 0)
