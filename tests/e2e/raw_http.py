"""HTTP/1.1 spoken by hand over a socket, for what no client would send."""
import json


def request_bytes(method, path, body=b"", *fields, version="1.1"):
    """A request with a Content-Length where there is a body; `fields` are lines."""
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/{version}", "Host: localhost", *fields]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


class Wire:
    """A connection whose replies are read one after another."""

    def __init__(self, sock):
        self.sock, self.buffer = sock, b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def _more(self):
        data = self.sock.recv(65536)
        self.buffer += data
        return bool(data)

    def _until(self, mark):
        while mark not in self.buffer:
            if not self._more():
                raise EOFError(self.buffer)
        head, _, self.buffer = self.buffer.partition(mark)
        return head

    def _exactly(self, count):
        while len(self.buffer) < count:
            if not self._more():
                raise EOFError(self.buffer)
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def head(self):
        """(status, fields by lower-case name) of the next reply."""
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        return int(lines[0].split(" ")[1]), fields

    def body(self, fields):
        if fields.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while size := int(self._until(b"\r\n"), 16):
                body += self._exactly(size)
                assert self._exactly(2) == b"\r\n"
            assert self._exactly(2) == b"\r\n"
            return body
        if "content-length" in fields:
            return self._exactly(int(fields["content-length"]))
        return self.rest()

    def reply(self, with_body=True):
        """(status, fields, body)."""
        status, fields = self.head()
        return status, fields, self.body(fields) if with_body else b""

    def rest(self):
        """What comes until the other side ends."""
        try:
            while self._more():
                pass
        except ConnectionResetError:
            pass
        data, self.buffer = self.buffer, b""
        return data

    def wait_for(self, text):
        """Reads until `text` came; gives all up to it."""
        return self._until(text) + text
