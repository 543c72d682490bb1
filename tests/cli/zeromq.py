# SPDX-License-Identifier: MIT
"""A ZeroMQ socket that pushes or publishes frames as detectors do, by libzmq itself: no package is needed."""
import ctypes
import json

try:
    LIBRARY = ctypes.CDLL("libzmq.so.5")
except OSError:
    LIBRARY = None
PUB, PUSH, LINGER, SNDHWM, LAST_ENDPOINT, SNDMORE = 1, 8, 17, 23, 32, 2


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

    def header(self, image, number, kind=2):
        return json.dumps({"htype": "array-1.0", "type": str(image.dtype), "shape": list(image.shape), "frame": number, "image_attributes": {"scan_index": kind}}).encode()

    def frame(self, image, number, kind=2):
        """kind: 0 a dark, 1 a flat, 2 a view."""
        self.parts(self.header(image, number, kind), image.tobytes())

    def close(self):
        LIBRARY.zmq_close(self.socket)
        LIBRARY.zmq_ctx_term(self.context)
