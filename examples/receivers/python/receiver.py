"""The smallest honest receiver of notifications in Python, standard library only. README.md says how to run it."""

import base64, hashlib, hmac, json, os, re, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SOURCE, TO = os.environ["NOTIFY_SOURCE"], os.environ["NOTIFY_TO"]
DONE = Path(os.environ.get("NOTIFY_DIR", "done"))
MAX_BODY_BYTES, TOLERANCE_SECONDS = 256 * 1024, 300
ONE_AT_A_TIME = threading.Lock()  # several processes need a lock in the database instead


def read_secret(text):
    key = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    if not text.startswith("whsec_") or not 24 <= len(key) <= 64:
        raise SystemExit("NOTIFY_SECRETS must hold whsec_ secrets of 24 to 64 bytes")
    return key


SECRETS = [read_secret(text) for text in os.environ["NOTIFY_SECRETS"].split()]  # two while a key rotates


def handle(event):
    """Your business. It runs again if the process dies before `remember`: make it safe to repeat."""
    print("effect", event["type"], event["bizId"], flush=True)


def signature_matches(notification_id, timestamp, given, body):
    signed = f"{notification_id}.{timestamp}.".encode() + body  # the bytes as they came, never parsed and printed again
    wanted = [b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in SECRETS]
    entries = given.encode("latin-1", "replace").split(b" ")[:10]
    return any(hmac.compare_digest(entry, mine) for entry in entries for mine in wanted)


def receive(headers, body):
    """Returns the status and the reason. Signature first, then time, then audience; only then the content is believed."""
    notification_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", notification_id) or not re.fullmatch(r"[1-9][0-9]{0,11}", timestamp):
        return 401, "invalid-signature"
    if not signature_matches(notification_id, timestamp, headers.get("webhook-signature", ""), body):
        return 401, "invalid-signature"
    if abs(int(time.time()) - int(timestamp)) > TOLERANCE_SECONDS:
        return 401, "stale-timestamp"
    try:
        event = json.loads(body.decode("utf-8"))
        source, to, kind, biz_id = (event[name] for name in ("source", "to", "type", "bizId"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return 400, "malformed"
    if (source, to) != (SOURCE, TO):
        return 401, "wrong-audience"
    key, digest = hashlib.sha256(json.dumps([source, to, kind, biz_id]).encode()).hexdigest(), hashlib.sha256(body).hexdigest()
    with ONE_AT_A_TIME:
        record = DONE / key
        if record.exists():
            return (200, "duplicate") if record.read_text() == digest else (422, "payload-conflict")
        handle(event)
        (DONE / f"{key}.new").write_text(digest)
        (DONE / f"{key}.new").replace(record)  # whole or not at all
    return 200, "handled"


class Receiver(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        try:
            size = int(self.headers.get("content-length") or 0)
            self.reply(*((413, "too-large") if size > MAX_BODY_BYTES else receive(self.headers, self.rfile.read(max(size, 0)))))
        except Exception as error:
            self.log_error("handler failed: %r", error)
            self.reply(500, "handler-error")

    def do_GET(self):
        self.reply(405, "method-not-allowed")

    def reply(self, status, reason):
        word = b"success" if status == 200 else b"fail"
        self.send_response(status)
        for name, value in (("content-type", "text/plain"), ("content-length", str(len(word))), ("cache-control", "no-store")):
            self.send_header(name, value)
        self.send_header("bestnotify-reason", reason)
        self.end_headers()
        self.wfile.write(word)


if __name__ == "__main__":
    DONE.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
    print("listening on", server.server_port, flush=True)
    server.serve_forever()
