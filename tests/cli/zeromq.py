# SPDX-License-Identifier: MIT
"""ZeroMQ sockets by libzmq itself: one that pushes or publishes frames as detectors do, and one that receives them. No package is needed."""
import ctypes
import json
import time

try:
    LIBRARY = ctypes.CDLL("libzmq.so.5")
except OSError:
    LIBRARY = None
PUB, PULL, PUSH, LINGER, SNDHWM, RCVHWM, LAST_ENDPOINT, SNDMORE = 1, 7, 8, 17, 23, 24, 32, 2
MESSAGE = ctypes.c_char * 64  # a zmq_msg_t


class Detector:
    """Binds any free port of this machine; `address` says which."""

    def __init__(self, kind=PUSH, address="tcp://127.0.0.1:*", high=64):
        z = LIBRARY
        z.zmq_ctx_new.restype = z.zmq_socket.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(z.zmq_ctx_new())
        self.socket = ctypes.c_void_p(z.zmq_socket(self.context, kind))
        for option, value in ((LINGER, 0), (SNDHWM, high)):
            z.zmq_setsockopt(self.socket, option, ctypes.byref(ctypes.c_int(value)), ctypes.sizeof(ctypes.c_int))
        assert z.zmq_bind(self.socket, address.encode()) == 0
        text, size = ctypes.create_string_buffer(256), ctypes.c_size_t(256)
        z.zmq_getsockopt(self.socket, LAST_ENDPOINT, text, ctypes.byref(size))
        self.address = text.value.decode()

    def parts(self, *parts):
        for k, part in enumerate(parts):
            view = bytes(part) if not isinstance(part, bytes) else part
            sent = LIBRARY.zmq_send(self.socket, view, ctypes.c_size_t(len(view)), SNDMORE if k + 1 < len(parts) else 0)
            assert sent == len(view)

    def lasting(self, header, body):
        """A frame whose pixels stay in memory as long as the socket: they are not copied."""
        message = MESSAGE()
        assert LIBRARY.zmq_send(self.socket, header, ctypes.c_size_t(len(header)), SNDMORE) == len(header)
        LIBRARY.zmq_msg_init_data(message, ctypes.c_char_p(body), ctypes.c_size_t(len(body)), None, None)
        assert LIBRARY.zmq_msg_send(message, self.socket, 0) == len(body)

    def header(self, image, number, kind=2):
        return json.dumps({"htype": "array-1.0", "type": str(image.dtype), "shape": list(image.shape), "frame": number, "image_attributes": {"scan_index": kind}}).encode()

    def frame(self, image, number, kind=2):
        """kind: 0 a dark, 1 a flat, 2 a view."""
        self.parts(self.header(image, number, kind), image.tobytes())

    def close(self):
        LIBRARY.zmq_close(self.socket)
        LIBRARY.zmq_ctx_term(self.context)


def receive(address, parts):
    """Receives this many parts of messages and drops them; returns when each came."""
    z, message, times, high = LIBRARY, MESSAGE(), [], ctypes.c_int(4096)
    context = ctypes.c_void_p(z.zmq_ctx_new())
    socket = ctypes.c_void_p(z.zmq_socket(context, PULL))
    z.zmq_setsockopt(socket, RCVHWM, ctypes.byref(high), ctypes.sizeof(high))
    assert z.zmq_connect(socket, address.encode()) == 0
    for _ in range(parts):
        z.zmq_msg_init(message)
        assert z.zmq_msg_recv(message, socket, 0) >= 0
        times.append(time.perf_counter())
        z.zmq_msg_close(message)
    z.zmq_close(socket)
    z.zmq_ctx_term(context)
    return times
