// The smallest honest receiver of notifications in Java 17, JDK only. README.md says how to run it.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.*;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
  static final int MAX_BODY_BYTES = 256 * 1024, TOLERANCE_SECONDS = 300;
  static final Path DONE = Path.of(System.getenv().getOrDefault("NOTIFY_DIR", "done"));
  static final List<byte[]> SECRETS = // two while a key rotates
      Arrays.stream(System.getenv("NOTIFY_SECRETS").split(" ")).map(Receiver::readSecret).toList();

  record Answer(int status, String reason) {}

  /** Your business. It runs again if the process dies before the record is written: make it safe to repeat. */
  static void handle(Map<String, String> event, byte[] body) {
    System.out.println("effect " + event.get("type") + " " + event.get("bizId"));
  }

  static byte[] readSecret(String text) {
    byte[] key = text.startsWith("whsec_") ? Base64.getDecoder().decode(text.substring(6)) : new byte[0];
    if (key.length < 24 || key.length > 64) throw new IllegalArgumentException("NOTIFY_SECRETS must hold whsec_ secrets of 24 to 64 bytes");
    return key;
  }

  static boolean signatureMatches(String id, String timestamp, String given, byte[] body) throws Exception {
    for (byte[] key : SECRETS) {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.US_ASCII));
      String wanted = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body)); // the bytes as they came
      for (String entry : given.split(" ", 11)) {
        if (MessageDigest.isEqual(entry.getBytes(StandardCharsets.UTF_8), wanted.getBytes(StandardCharsets.UTF_8))) return true;
      }
    }
    return false;
  }

  /** Signature first, then time, then audience; only then the content is believed. */
  static Answer receive(String id, String timestamp, String given, byte[] body) throws Exception {
    if (!id.matches("[A-Za-z0-9_-]{1,128}") || !timestamp.matches("[1-9][0-9]{0,11}")) return new Answer(401, "invalid-signature");
    if (!signatureMatches(id, timestamp, given, body)) return new Answer(401, "invalid-signature");
    long skewSeconds = System.currentTimeMillis() / 1000 - Long.parseLong(timestamp);
    if (Math.abs(skewSeconds) > TOLERANCE_SECONDS) return new Answer(401, "stale-timestamp");
    Map<String, String> event;
    try {
      event = members(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
    } catch (CharacterCodingException | StringIndexOutOfBoundsException error) {
      return new Answer(400, "malformed");
    }
    List<String> key = new ArrayList<>();
    for (String name : List.of("source", "to", "type", "bizId")) {
      if (!event.containsKey(name)) return new Answer(400, "malformed");
      key.add(event.get(name));
    }
    if (!key.get(0).equals(System.getenv("NOTIFY_SOURCE")) || !key.get(1).equals(System.getenv("NOTIFY_TO"))) {
      return new Answer(401, "wrong-audience");
    }
    return once(digest(String.join("\n", key).getBytes(StandardCharsets.UTF_8)), digest(body), () -> handle(event, body));
  }

  static synchronized Answer once(String key, String digest, Runnable work) throws IOException { // several processes: a lock in the database
    Path file = DONE.resolve(key);
    if (Files.exists(file)) {
      return Files.readString(file).equals(digest) ? new Answer(200, "duplicate") : new Answer(422, "payload-conflict");
    }
    work.run();
    Path fresh = Files.writeString(DONE.resolve(key + ".new"), digest);
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE); // whole or not at all
    return new Answer(200, "handled");
  }

  /** The outermost object's text members. The JDK has no JSON reader; this one is enough for text that its signer wrote. */
  static Map<String, String> members(String json) {
    Map<String, String> found = new HashMap<>();
    String name = null;
    for (int at = 0, depth = 0; at < json.length(); at++) {
      char next = json.charAt(at);
      if (next == '{' || next == '[') depth++;
      else if (next == '}' || next == ']') depth--;
      else if (next == ',' && depth == 1) name = null;
      if (next != '"') continue;
      int start = at + 1;
      for (at = start; json.charAt(at) != '"'; at++) if (json.charAt(at) == '\\') at++;
      if (depth != 1) continue;
      String text = json.substring(start, at).replaceAll("\\\\(.)", "$1"); // the four members are visible ASCII
      if (name == null) name = text;
      else found.put(name, text);
    }
    return found;
  }

  static String digest(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (java.security.NoSuchAlgorithmException error) {
      throw new AssertionError(error);
    }
  }

  static void serve(HttpExchange exchange) throws IOException {
    Answer answer;
    try {
      byte[] body = exchange.getRequestBody().readNBytes(MAX_BODY_BYTES + 1);
      if (!exchange.getRequestMethod().equals("POST")) answer = new Answer(405, "method-not-allowed");
      else if (body.length > MAX_BODY_BYTES) answer = new Answer(413, "too-large");
      else answer = receive(header(exchange, "webhook-id"), header(exchange, "webhook-timestamp"), header(exchange, "webhook-signature"), body);
    } catch (Exception error) {
      System.err.println("handler failed: " + error);
      answer = new Answer(500, "handler-error");
    }
    byte[] word = (answer.status() == 200 ? "success" : "fail").getBytes(StandardCharsets.US_ASCII);
    exchange.getResponseHeaders().set("content-type", "text/plain");
    exchange.getResponseHeaders().set("cache-control", "no-store");
    exchange.getResponseHeaders().set("bestnotify-reason", answer.reason());
    exchange.sendResponseHeaders(answer.status(), word.length);
    exchange.getResponseBody().write(word);
    exchange.close();
  }

  static String header(HttpExchange exchange, String name) {
    return Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst(name), "");
  }

  public static void main(String[] arguments) throws IOException {
    Files.createDirectories(DONE);
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"))), 64);
    server.createContext("/", Receiver::serve);
    server.setExecutor(Executors.newFixedThreadPool(8));
    server.start();
    System.out.println("listening on " + server.getAddress().getPort());
  }
}
