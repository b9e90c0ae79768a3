<?php
// Sends one notification under the profile body-hmac: the bytes that are signed are the bytes that are sent. README.md says how to run it.
declare(strict_types=1);

[, $url, $type, $json] = $argv + [1 => '', 'payment.success', '{}'];
$secret = (string) getenv('NOTIFY_BODY_SECRET');
if (strlen($secret) < 16) exit("NOTIFY_BODY_SECRET must be a string of at least 16 bytes\n");

$data = json_decode($json, false, 128, JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
$data->notification_id = getenv('NOTIFY_ID') ?: 'ntf_' . bin2hex(random_bytes(16)); // keep it: every repetition carries the same id
$data->type = $type;
$body = json_encode($data, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION); // once; from here on only these bytes exist

$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Content-Type: application/json',
        'X-Event-Type: ' . $type,
        'X-Signature: ' . hash_hmac('sha256', $body, $secret),
    ],
    'content' => $body,
    'timeout' => 10,
    'follow_location' => 0,
    'ignore_errors' => true,
]]);
$reply = @file_get_contents($url, false, $context, 0, 65536);
$status = (int) (explode(' ', $http_response_header[0] ?? '')[1] ?? 0);
$word = trim(preg_replace('/^\xEF\xBB\xBF/', '', (string) $reply), " \t\r\n");
$acknowledged = $status >= 200 && $status <= 299 && strcasecmp($word, 'success') === 0;

echo $acknowledged ? "acknowledged\n" : "not acknowledged (status $status): send the same body again later\n";
exit($acknowledged ? 0 : 1);
