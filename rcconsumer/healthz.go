package rcconsumer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// healthSchema names the form of what Healthz answers. Within a major version
// fields are only added.
const healthSchema = "readcommitted.health/1"

// Healthz returns a handler that answers with [Consumer.Health], at whatever path
// it is put:
//
//	mux.Handle("/healthz", consumer.Healthz())
//
// A GET or HEAD gets status 200 if the consumer is ready and 503 if not, for a
// readiness probe; with the query live=1 it is 200 if the consumer is live, for a
// liveness probe. The body is the same for both:
//
//	{"schema":"readcommitted.health/1","ready":true,"live":true,"reasons":[
//	 {"cause":"broker_unreachable","since":"2026-01-02T03:04:05Z","age_seconds":12.5,"count":1,
//	  "text":"a broker cannot be reached: broker 2 (dial 10.0.0.2:9092: connection refused); since 2026-01-02T03:04:05Z"}]}
//
// Other methods get 405, a value of live that is no boolean 400. The answer is
// never cached, and does not wait for anything: it says what the consumer knows.
// It names topics, groups and brokers, so keep it on an internal port.
func (c *Consumer) Healthz() http.Handler { return http.HandlerFunc(c.serveHealth) }

func (c *Consumer) serveHealth(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	live, err := asksForLive(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h := c.Health()
	writeHealth(w, r, h, live && h.Live || !live && h.Ready)
}

// writeHealth answers with a health, and with a status that says whether it is
// well.
func writeHealth(w http.ResponseWriter, r *http.Request, h Health, well bool) {
	body, err := json.Marshal(newHealthReport(h))
	if err != nil { // of numbers, strings and times it does not happen
		http.Error(w, "the health cannot be written", http.StatusInternalServerError)
		return
	}
	body = append(body, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if !well {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // whoever asked has gone, and nobody else waits for it
	}
}

// asksForLive reports whether a query asks for liveness: live, live=1, live=true.
func asksForLive(q url.Values) (bool, error) {
	value := q.Get("live")
	if value == "" {
		return q.Has("live"), nil
	}
	live, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("live=%q: must be a boolean", value)
	}
	return live, nil
}

// healthReport is the body of an answer.
type healthReport struct {
	Schema  string         `json:"schema"`
	Ready   bool           `json:"ready"`
	Live    bool           `json:"live"`
	Reasons []reasonReport `json:"reasons"`
}

type reasonReport struct {
	Cause Cause     `json:"cause"`
	Since time.Time `json:"since"`
	Age   float64   `json:"age_seconds"`
	Count int       `json:"count"` // places
	Text  string    `json:"text"`
}

func newHealthReport(h Health) healthReport {
	report := healthReport{Schema: healthSchema, Ready: h.Ready, Live: h.Live, Reasons: make([]reasonReport, 0, len(h.Details))}
	for _, d := range h.Details {
		report.Reasons = append(report.Reasons, reasonReport{
			Cause: d.Cause, Since: d.Since.UTC().Truncate(time.Millisecond), Age: float64(d.Age.Milliseconds()) / 1000,
			Count: d.Count, Text: d.Text,
		})
	}
	return report
}
