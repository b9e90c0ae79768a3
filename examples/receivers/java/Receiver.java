// The smallest honest receiver of notifications in Java 17, JDK only. README.md says how to run it.
import com.sun.net.httpserver.*;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.security.MessageDigest;
import java.util.*;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import static java.nio.charset.StandardCharsets.UTF_8;

public class Receiver {
  static final Map<String, String> ENV = System.getenv();
  static final List<byte[]> KEYS = new ArrayList<>(); // two while a key rotates

  /** Your business. It runs again if the process dies before the record is written: make it safe to repeat. */
  static void handle(Map<String, String> event, byte[] body) {
    System.out.println("effect " + event.get("type") + " " + event.get("bizId"));
  }

  static boolean isSigned(Headers headers, byte[] body) throws Exception {
    String signed = headers.getFirst("webhook-id") + "." + headers.getFirst("webhook-timestamp") + ".";
    for (byte[] key : KEYS) {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      mac.update(signed.getBytes(UTF_8));
      byte[] wanted = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(UTF_8); // the bytes as they came
      for (String entry : headers.getOrDefault("webhook-signature", List.of("")).get(0).split(" ", 10)) {
        if (MessageDigest.isEqual(entry.getBytes(UTF_8), wanted)) return true;
      }
    }
    return false;
  }

  /** A status and a reason. Signature first, then time, then audience; only then the content is believed. */
  static String receive(Headers headers, byte[] body) throws Exception {
    if (!isSigned(headers, body)) return "401 invalid-signature";
    long skewSeconds = System.currentTimeMillis() / 1000 - Long.parseLong(headers.getFirst("webhook-timestamp"));
    if (Math.abs(skewSeconds) > 300) return "401 stale-timestamp";
    Map<String, String> event;
    try {
      event = members(UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
    } catch (IOException | StringIndexOutOfBoundsException error) {
      return "400 malformed";
    }
    if (!event.keySet().containsAll(List.of("source", "to", "type", "bizId"))) return "400 malformed";
    if (!event.get("source").equals(ENV.get("NOTIFY_SOURCE")) || !event.get("to").equals(ENV.get("NOTIFY_TO"))) return "401 wrong-audience";
    String name = String.join(" ", event.get("source"), event.get("to"), event.get("type"), event.get("bizId"));
    return once(Path.of(ENV.getOrDefault("NOTIFY_DIR", "done"), digest(name.getBytes(UTF_8))), digest(body), () -> handle(event, body));
  }

  static synchronized String once(Path file, String digest, Runnable work) throws IOException { // several processes: a lock in the database
    String done = Files.exists(file) ? Files.readString(file) : "";
    if (done.equals(digest)) return "200 duplicate";
    if (done.length() == digest.length()) return "422 payload-conflict"; // a shorter record was cut by a crash, and is none
    work.run();
    Files.writeString(file, digest);
    return "200 handled";
  }

  /** The outermost object's text members. The JDK has no JSON reader; this one is enough for text that its signer wrote. */
  static Map<String, String> members(String json) {
    Map<String, String> found = new HashMap<>();
    String name = null;
    for (int at = 0, depth = 0; at < json.length(); at++) {
      char next = json.charAt(at);
      if (next == '{' || next == '[') depth++;
      if (next == '}' || next == ']') depth--;
      if (next == ',' && depth == 1) name = null;
      if (next != '"') continue;
      int start = ++at;
      while (json.charAt(at) != '"') at += json.charAt(at) == '\\' ? 2 : 1;
      String text = depth == 1 ? json.substring(start, at).replaceAll("\\\\(.)", "$1") : ""; // the four members are visible ASCII
      if (depth == 1 && name != null) found.put(name, text);
      else if (depth == 1) name = text;
    }
    return found;
  }

  static String digest(byte[] bytes) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
  }

  static void serve(HttpExchange exchange) throws IOException {
    String answer = "405 method-not-allowed";
    try {
      byte[] body = exchange.getRequestBody().readNBytes(256 * 1024 + 1);
      if (body.length > 256 * 1024) answer = "413 too-large";
      else if (exchange.getRequestMethod().equals("POST")) answer = receive(exchange.getRequestHeaders(), body);
    } catch (Exception error) {
      System.err.println("handler failed: " + error);
      answer = "500 handler-error";
    }
    byte[] word = (answer.startsWith("200") ? "success" : "fail").getBytes(UTF_8);
    exchange.getResponseHeaders().set("content-type", "text/plain");
    exchange.getResponseHeaders().set("bestnotify-reason", answer.substring(4));
    exchange.sendResponseHeaders(Integer.parseInt(answer.substring(0, 3)), word.length);
    exchange.getResponseBody().write(word);
    exchange.close();
  }

  public static void main(String[] arguments) throws IOException {
    for (String secret : ENV.get("NOTIFY_SECRETS").split(" ")) KEYS.add(Base64.getDecoder().decode(secret.replaceFirst("^whsec_", "")));
    if (KEYS.stream().anyMatch(key -> key.length < 24)) throw new IllegalArgumentException("NOTIFY_SECRETS must hold whsec_ secrets");
    Files.createDirectories(Path.of(ENV.getOrDefault("NOTIFY_DIR", "done")));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(ENV.getOrDefault("PORT", "8080"))), 64);
    server.createContext("/", Receiver::serve);
    server.setExecutor(Executors.newFixedThreadPool(8));
    server.start();
    System.out.println("listening on " + server.getAddress());
  }
}
