<?php
// The smallest honest receiver of notifications in PHP, no extension needed. README.md says how to run it.
declare(strict_types=1);

const MAX_BODY_BYTES = 256 * 1024;
const TOLERANCE_SECONDS = 300;

/** Your business. It runs again if the process dies before the record is written: make it safe to repeat. */
function handle(array $event): void
{
    file_put_contents('php://stdout', "effect {$event['type']} {$event['bizId']}\n");
}

function readSecret(string $text): string
{
    $key = str_starts_with($text, 'whsec_') ? base64_decode(substr($text, 6), true) : false;
    if ($key === false || strlen($key) < 24 || strlen($key) > 64) {
        throw new RuntimeException('NOTIFY_SECRETS must hold whsec_ secrets of 24 to 64 bytes');
    }
    return $key;
}

function signatureMatches(string $id, string $timestamp, string $given, string $body): bool
{
    $entries = array_slice(explode(' ', $given), 0, 10);
    foreach (explode(' ', (string) getenv('NOTIFY_SECRETS')) as $secret) { // two while a key rotates
        $hmac = hash_hmac('sha256', "$id.$timestamp.$body", readSecret($secret), true); // the bytes as they came
        foreach ($entries as $entry) {
            if (hash_equals('v1,' . base64_encode($hmac), $entry)) return true;
        }
    }
    return false;
}

/** Returns the status and the reason. Signature first, then time, then audience; only then the content is believed. */
function receive(string $id, string $timestamp, string $given, string $body): array
{
    if (!preg_match('/^[A-Za-z0-9_-]{1,128}$/D', $id)) return [401, 'invalid-signature'];
    if (!preg_match('/^[1-9][0-9]{0,11}$/D', $timestamp)) return [401, 'invalid-signature'];
    if (!signatureMatches($id, $timestamp, $given, $body)) return [401, 'invalid-signature'];
    if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) return [401, 'stale-timestamp'];
    // PHP refuses the escape of half a surrogate pair, which JSON allows: read a copy in which U+FFFD stands for it.
    $half = '/\\\\[^u](*SKIP)(*F)|\\\\u[dD][89abAB]..\\\\u[dD][c-fC-F]..(*SKIP)(*F)|\\\\u[dD][89a-fA-F]../';
    $event = json_decode(preg_replace($half, '\ufffd', $body), true, 128, JSON_BIGINT_AS_STRING);
    foreach (['source', 'to', 'type', 'bizId'] as $member) {
        if (!is_string($event[$member] ?? null)) return [400, 'malformed'];
    }
    if ($event['source'] !== getenv('NOTIFY_SOURCE') || $event['to'] !== getenv('NOTIFY_TO')) return [401, 'wrong-audience'];
    return once([$event['source'], $event['to'], $event['type'], $event['bizId']], hash('sha256', $body), fn () => handle($event));
}

/** The record of what is done: one locked file per business id. A shop with a database puts it in the handler's own transaction. */
function once(array $key, string $digest, callable $work): array
{
    $directory = getenv('NOTIFY_DIR') ?: 'done';
    if (!is_dir($directory)) mkdir($directory, 0700, true);
    $file = fopen($directory . '/' . hash('sha256', json_encode($key)), 'c+');
    if (!flock($file, LOCK_EX | LOCK_NB)) return [409, 'in-progress'];
    $done = stream_get_contents($file);
    if (strlen($done) === 64) return $done === $digest ? [200, 'duplicate'] : [422, 'payload-conflict'];
    $work();
    rewind($file); // a record cut short by a crash is no record, and is written over
    if (fwrite($file, $digest) !== 64 || !fflush($file)) throw new RuntimeException('the record could not be written');
    return [200, 'handled'];
}

try {
    $body = (string) file_get_contents('php://input', length: MAX_BODY_BYTES + 1);
    $header = fn (string $name): string => $_SERVER[$name] ?? '';
    [$status, $reason] = match (true) {
        $_SERVER['REQUEST_METHOD'] !== 'POST' => [405, 'method-not-allowed'],
        strlen($body) > MAX_BODY_BYTES => [413, 'too-large'],
        default => receive($header('HTTP_WEBHOOK_ID'), $header('HTTP_WEBHOOK_TIMESTAMP'), $header('HTTP_WEBHOOK_SIGNATURE'), $body),
    };
} catch (Throwable $error) {
    error_log('handler failed: ' . $error->getMessage());
    [$status, $reason] = [500, 'handler-error'];
}
http_response_code($status);
header('content-type: text/plain');
header('cache-control: no-store');
header("bestnotify-reason: $reason");
if ($status === 409) header('retry-after: 1');
echo $status === 200 ? 'success' : 'fail';
