"""The smallest honest receiver of notifications in Python, standard library only. README.md says how to run it."""

import base64, hashlib, hmac, json, os, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

DONE = Path(os.environ.get("NOTIFY_DIR", "done"))
KEYS = [base64.b64decode(text.removeprefix("whsec_")) for text in os.environ["NOTIFY_SECRETS"].split()]  # two while a key rotates
ONE_AT_A_TIME = threading.Lock()  # several processes need a lock in the database instead


def handle(event):
    """Your business. It runs again if the process dies before the record is written: make it safe to repeat."""
    print("effect", event["type"], event["bizId"], flush=True)


def is_signed(notification_id, timestamp, given, body):
    signed = f"{notification_id}.{timestamp}.".encode() + body  # the bytes as they came, never parsed and printed again
    wanted = [b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in KEYS]
    return any(hmac.compare_digest(entry, mine) for entry in given.encode().split(b" ")[:10] for mine in wanted)


def receive(headers, body):
    """Returns the status and the reason. Signature first, then time, then audience; only then the content is believed."""
    notification_id, timestamp, given = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not is_signed(notification_id, timestamp, given, body):
        return 401, "invalid-signature"
    if abs(int(time.time()) - int(timestamp)) > 300:
        return 401, "stale-timestamp"
    try:
        event = json.loads(body.decode("utf-8"))
        key = [event[name] for name in ("source", "to", "type", "bizId")]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 400, "malformed"
    if key[:2] != [os.environ["NOTIFY_SOURCE"], os.environ["NOTIFY_TO"]]:
        return 401, "wrong-audience"
    record, digest = DONE / hashlib.sha256(json.dumps(key).encode()).hexdigest(), hashlib.sha256(body).hexdigest()
    with ONE_AT_A_TIME:
        done = record.read_text() if record.exists() else ""
        if len(done) == len(digest):  # a shorter record was cut by a crash, and is none
            return (200, "duplicate") if done == digest else (422, "payload-conflict")
        handle(event)
        record.write_text(digest)
    return 200, "handled"


class Receiver(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        try:
            size = int(self.headers.get("content-length") or 0)
            self.reply(*((413, "too-large") if size > 256 * 1024 else receive(self.headers, self.rfile.read(max(size, 0)))))
        except Exception as error:
            self.log_error("handler failed: %r", error)
            self.reply(500, "handler-error")

    def do_GET(self):
        self.reply(405, "method-not-allowed")

    def reply(self, status, reason):
        word = b"success" if status == 200 else b"fail"
        self.send_response(status)
        for name, value in (("content-type", "text/plain"), ("content-length", len(word)), ("bestnotify-reason", reason)):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(word)


if not KEYS or any(len(key) < 24 for key in KEYS):
    raise SystemExit("NOTIFY_SECRETS must hold whsec_ secrets")
DONE.mkdir(parents=True, exist_ok=True)
server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
print("listening on", server.server_port, flush=True)
server.serve_forever()
