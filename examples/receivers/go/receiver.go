// The smallest honest receiver of notifications in Go, standard library only. README.md says how to run it.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

var keys [][]byte         // two while a key rotates
var oneAtATime sync.Mutex // several processes need a lock in the database instead

// handle is your business. It runs again if the process dies before the record is written: make it safe to repeat.
func handle(event map[string]any) error {
	fmt.Println("effect", event["type"], event["bizId"])
	return nil
}

func isSigned(header http.Header, body []byte) bool {
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", header.Get("webhook-id"), header.Get("webhook-timestamp"), body) // the bytes as they came
		wanted := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, entry := range strings.SplitN(header.Get("webhook-signature"), " ", 10) {
			if hmac.Equal([]byte(entry), []byte(wanted)) {
				return true
			}
		}
	}
	return false
}

// receive checks the signature first, then the time, then the audience; only then the content is believed.
func receive(header http.Header, body []byte) (int, string) {
	if !isSigned(header, body) {
		return 401, "invalid-signature"
	}
	seconds, _ := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
	if skew := time.Now().Unix() - seconds; skew > 300 || skew < -300 {
		return 401, "stale-timestamp"
	}
	event, name := map[string]any{}, "" // not a struct: Go matches the names of fields in any case
	wrong := !utf8.Valid(body) || json.Unmarshal(body, &event) != nil
	for _, member := range []string{"source", "to", "type", "bizId"} {
		text, isText := event[member].(string)
		name, wrong = name+text+" ", wrong || !isText
	}
	if wrong {
		return 400, "malformed"
	} else if event["source"] != os.Getenv("NOTIFY_SOURCE") || event["to"] != os.Getenv("NOTIFY_TO") {
		return 401, "wrong-audience"
	}
	file, digest := fmt.Sprintf("%s/%x", os.Getenv("NOTIFY_DIR"), sha256.Sum256([]byte(name))), fmt.Sprintf("%x", sha256.Sum256(body))
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	if done, err := os.ReadFile(file); err != nil && !os.IsNotExist(err) {
		return 503, "store-unavailable"
	} else if string(done) == digest {
		return 200, "duplicate"
	} else if len(done) == len(digest) { // a shorter record was cut by a crash, and is none
		return 422, "payload-conflict"
	}
	if handle(event) != nil || os.WriteFile(file, []byte(digest), 0o600) != nil {
		return 500, "handler-error"
	}
	return 200, "handled"
}

func serve(w http.ResponseWriter, r *http.Request) {
	status, reason, word := 405, "method-not-allowed", "fail"
	if body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 256*1024)); err != nil {
		status, reason = 413, "too-large"
	} else if r.Method == "POST" {
		status, reason = receive(r.Header, body)
	}
	if status == 200 {
		word = "success"
	}
	w.Header().Set("content-type", "text/plain")
	w.Header().Set("bestnotify-reason", reason)
	w.WriteHeader(status)
	io.WriteString(w, word)
}

func main() {
	for _, text := range strings.Fields(os.Getenv("NOTIFY_SECRETS")) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
		if err != nil || len(key) < 24 {
			panic("NOTIFY_SECRETS must hold whsec_ secrets")
		}
		keys = append(keys, key)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil || os.MkdirAll(os.Getenv("NOTIFY_DIR"), 0o700) != nil {
		panic("PORT must be free, and NOTIFY_DIR a directory that can be made")
	}
	fmt.Println("listening on", listener.Addr())
	panic((&http.Server{Handler: http.HandlerFunc(serve), ReadTimeout: 10 * time.Second}).Serve(listener))
}
