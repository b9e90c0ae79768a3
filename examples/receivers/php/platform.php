<?php
// A platform in PHP: an order is marked paid and its merchant's notification is enqueued in one transaction. README.md says how to run it.
declare(strict_types=1);

/** Both or neither: the worker sends nothing unless this transaction commits. */
function pay(PDO $db, string $orderId): string
{
    $db->beginTransaction();
    try {
        $paid = $db->prepare('update shop_order set paid_at = now() where id = ? and paid_at is null returning merchant, payment_id, amount::text');
        $paid->execute([$orderId]);
        $order = $paid->fetch(PDO::FETCH_ASSOC);
        if ($order === false) throw new DomainException("order $orderId does not exist or is paid already");
        $data = json_encode(
            ['amount' => $order['amount'], 'currency' => 'CNY', 'note' => '支付成功 https://acme.example/'],
            JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES,
        );
        $schema = getenv('NOTIFY_SCHEMA') ?: 'bestnotify';
        if (!preg_match('/^[a-z_][a-z0-9_]*$/D', $schema)) throw new DomainException('NOTIFY_SCHEMA is not a plain name');
        $enqueued = $db->prepare(
            "select id, created from $schema.enqueue(source => ?, endpoint => ?, type => 'payment.success', biz_id => ?, data => ?, subject => ?)",
        );
        $enqueued->execute([getenv('NOTIFY_SOURCE'), $order['merchant'], $order['payment_id'], $data, $orderId]);
        $id = $enqueued->fetchColumn();
        if (getenv('FAIL_BEFORE_COMMIT')) throw new DomainException('the shop changed its mind'); // to see that nothing is sent
        $db->commit();
        return $id;
    } catch (Throwable $error) {
        $db->rollBack();
        throw $error;
    }
}

try {
    $db = new PDO((string) getenv('DATABASE_DSN'), null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    echo pay($db, $argv[1] ?? ''), "\n";
} catch (PDOException $error) {
    // SQLSTATE BN001: a member outside its grammar; BN002: unknown endpoint; BN003: the same event with another payload.
    $code = (string) $error->getCode();
    echo str_starts_with($code, 'BN') ? "refused ($code)\n" : "database error $code\n";
    exit(1);
} catch (DomainException $error) {
    echo $error->getMessage(), "\n";
    exit(1);
}
