// The smallest honest receiver of notifications in Go, standard library only. README.md says how to run it.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const maxBodyBytes, toleranceSeconds = 256 * 1024, 300

var (
	secrets       [][]byte // two while a key rotates
	directory     = "done"
	oneAtATime    sync.Mutex // several processes need a lock in the database instead
	idGrammar     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	secondGrammar = regexp.MustCompile(`^[1-9][0-9]{0,11}$`)
)

// handle is your business. It runs again if the process dies before the record is written: make it safe to repeat.
func handle(event map[string]any) error {
	fmt.Println("effect", event["type"], event["bizId"])
	return nil
}

func signatureMatches(id, timestamp, given string, body []byte) bool {
	entries := strings.SplitN(given, " ", 11)
	for _, key := range secrets {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body) // the bytes as they came, never parsed and printed again
		wanted := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, entry := range entries {
			if hmac.Equal([]byte(entry), wanted) {
				return true
			}
		}
	}
	return false
}

// receive checks the signature first, then the time, then the audience; only then the content is believed.
func receive(header http.Header, body []byte) (int, string) {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	if !idGrammar.MatchString(id) || !secondGrammar.MatchString(timestamp) ||
		!signatureMatches(id, timestamp, header.Get("webhook-signature"), body) {
		return 401, "invalid-signature"
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	if skew := time.Now().Unix() - seconds; skew > toleranceSeconds || skew < -toleranceSeconds {
		return 401, "stale-timestamp"
	}
	event := map[string]any{} // not a struct: Go matches the names of fields in any case
	if !utf8.Valid(body) || json.Unmarshal(body, &event) != nil {
		return 400, "malformed"
	}
	var key [4]string
	for i, member := range []string{"source", "to", "type", "bizId"} {
		text, ok := event[member].(string)
		if !ok {
			return 400, "malformed"
		}
		key[i] = text
	}
	if key[0] != os.Getenv("NOTIFY_SOURCE") || key[1] != os.Getenv("NOTIFY_TO") {
		return 401, "wrong-audience"
	}
	name, _ := json.Marshal(key)
	return once(digest(name), digest(body), func() error { return handle(event) })
}

func once(key, payload string, work func() error) (int, string) {
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	file := filepath.Join(directory, key)
	done, err := os.ReadFile(file)
	if err == nil && string(done) == payload {
		return 200, "duplicate"
	} else if err == nil {
		return 422, "payload-conflict"
	}
	if errors.Is(err, os.ErrNotExist) {
		err = work()
	}
	if err == nil {
		err = os.WriteFile(file+".new", []byte(payload), 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file) // whole or not at all
	}
	if err != nil {
		log.Println("handler failed:", err)
		return 500, "handler-error"
	}
	return 200, "handled"
}

func digest(bytes []byte) string {
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:])
}

func serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	status, reason := 405, "method-not-allowed"
	if err != nil {
		status, reason = 413, "too-large"
	} else if r.Method == http.MethodPost {
		status, reason = receive(r.Header, body)
	}
	w.Header().Set("content-type", "text/plain")
	w.Header().Set("cache-control", "no-store")
	w.Header().Set("bestnotify-reason", reason)
	w.WriteHeader(status)
	word := "fail"
	if status == 200 {
		word = "success"
	}
	io.WriteString(w, word)
}

func main() {
	for _, text := range strings.Fields(os.Getenv("NOTIFY_SECRETS")) {
		key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(text, "whsec_"))
		if err != nil || !strings.HasPrefix(text, "whsec_") || len(key) < 24 || len(key) > 64 {
			log.Fatal("NOTIFY_SECRETS must hold whsec_ secrets of 24 to 64 bytes")
		}
		secrets = append(secrets, key)
	}
	if given := os.Getenv("NOTIFY_DIR"); given != "" {
		directory = given
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr().(*net.TCPAddr).Port)
	server := http.Server{Handler: http.HandlerFunc(serve), ReadTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}
