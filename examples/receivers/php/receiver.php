<?php
// The smallest honest receiver of notifications in PHP, no extension needed. README.md says how to run it.
declare(strict_types=1);

/** Your business. It runs again if the process dies before the record is written: make it safe to repeat. */
function handle(array $event): void
{
    file_put_contents('php://stdout', "effect {$event['type']} {$event['bizId']}\n");
}

function isSigned(string $id, string $timestamp, string $given, string $body): bool
{
    foreach (explode(' ', (string) getenv('NOTIFY_SECRETS')) as $secret) { // two while a key rotates
        $key = (string) base64_decode(substr($secret, strlen('whsec_')), true);
        if (strlen($key) < 24) throw new RuntimeException('NOTIFY_SECRETS must hold whsec_ secrets');
        $wanted = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true)); // the bytes as they came
        foreach (explode(' ', $given, 10) as $entry) {
            if (hash_equals($wanted, $entry)) return true;
        }
    }
    return false;
}

/** Returns the status and the reason. Signature first, then time, then audience; only then the content is believed. */
function receive(string $id, string $timestamp, string $given, string $body): array
{
    if (!isSigned($id, $timestamp, $given, $body)) return [401, 'invalid-signature'];
    if (abs(time() - (int) $timestamp) > 300) return [401, 'stale-timestamp'];
    // PHP refuses the escape of half a surrogate pair, which JSON allows: read a copy in which U+FFFD stands for it.
    $half = '/\\\\[^u](*SKIP)(*F)|\\\\u[dD][89abAB]..\\\\u[dD][c-fC-F]..(*SKIP)(*F)|\\\\u[dD][89a-fA-F]../';
    $event = json_decode(preg_replace($half, '\ufffd', $body), true, 128, JSON_BIGINT_AS_STRING);
    $key = array_map(fn (string $member) => $event[$member] ?? null, ['source', 'to', 'type', 'bizId']);
    if (!is_array($event) || array_filter($key, 'is_string') !== $key) return [400, 'malformed'];
    if ([$key[0], $key[1]] !== [getenv('NOTIFY_SOURCE'), getenv('NOTIFY_TO')]) return [401, 'wrong-audience'];
    return once(hash('sha256', json_encode($key)), hash('sha256', $body), fn () => handle($event));
}

/** The record of what is done: one locked file per business id. A shop with a database puts it in the handler's own transaction. */
function once(string $name, string $digest, callable $work): array
{
    $directory = getenv('NOTIFY_DIR') ?: 'done';
    if (!is_dir($directory)) @mkdir($directory, 0700, true);
    $file = fopen("$directory/$name", 'c+');
    if (!flock($file, LOCK_EX | LOCK_NB)) return [409, 'in-progress'];
    $done = stream_get_contents($file);
    if (strlen($done) === strlen($digest)) return $done === $digest ? [200, 'duplicate'] : [422, 'payload-conflict'];
    $work();
    rewind($file); // a shorter record was cut by a crash, is none, and is written over
    if (fwrite($file, $digest) !== strlen($digest)) throw new RuntimeException('the record could not be written');
    return [200, 'handled'];
}

try {
    $body = (string) file_get_contents('php://input', length: 256 * 1024 + 1);
    $header = fn (string $name): string => $_SERVER["HTTP_WEBHOOK_$name"] ?? '';
    [$status, $reason] = match (true) {
        $_SERVER['REQUEST_METHOD'] !== 'POST' => [405, 'method-not-allowed'],
        strlen($body) > 256 * 1024 => [413, 'too-large'],
        default => receive($header('ID'), $header('TIMESTAMP'), $header('SIGNATURE'), $body),
    };
} catch (Throwable $error) {
    error_log('handler failed: ' . $error->getMessage());
    [$status, $reason] = [500, 'handler-error'];
}
http_response_code($status);
header('content-type: text/plain');
header("bestnotify-reason: $reason");
if ($status === 409) header('retry-after: 1');
echo $status === 200 ? 'success' : 'fail';
