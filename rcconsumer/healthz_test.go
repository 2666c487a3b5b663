package rcconsumer_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// probed is what a probe gets.
func probed(c *rcconsumer.Consumer, method, target string) *http.Response {
	mux := http.NewServeMux()
	mux.Handle("/some/where/", c.Healthz())
	r := httptest.NewRecorder()
	mux.ServeHTTP(r, httptest.NewRequest(method, "/some/where/"+target, nil))
	return r.Result()
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(body)
}

func TestHealthzAnswersProbes(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0)
		l := &cable{w: w}
		c := w.consumer(kgo.ConsumeTopics(topic), kgo.Dialer(l.dial))
		for _, target := range []string{"", "?live", "?live=1", "?live=true", "?live=0"} {
			eventually(t, "status 200", func() bool { return probed(c, http.MethodGet, target).StatusCode == http.StatusOK })
		}
		r := probed(c, http.MethodGet, "")
		require.Equal(t, "application/json", r.Header.Get("Content-Type"))
		require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
		require.Equal(t, `{"schema":"readcommitted.health/1","ready":true,"live":true,"reasons":[]}`+"\n", bodyOf(t, r))

		l.cut(refusal())
		eventually(t, "status 503", func() bool { return probed(c, http.MethodGet, "").StatusCode == http.StatusServiceUnavailable })
		require.Equal(t, http.StatusServiceUnavailable, probed(c, http.MethodGet, "?live=0").StatusCode)
		require.Equal(t, http.StatusOK, probed(c, http.MethodGet, "?live=1").StatusCode, "a restart would not help")
		var got struct {
			Schema      string
			Ready, Live bool
			Reasons     []struct {
				Cause, Text string
				Since       time.Time
				Age         float64 `json:"age_seconds"`
				Count       int
			}
		}
		require.NoError(t, json.Unmarshal([]byte(bodyOf(t, probed(c, http.MethodGet, ""))), &got))
		require.Equal(t, "readcommitted.health/1", got.Schema)
		require.False(t, got.Ready)
		require.True(t, got.Live)
		h := c.Health()
		require.Len(t, got.Reasons, len(h.Details))
		for i, d := range h.Details {
			require.Equal(t, string(d.Cause), got.Reasons[i].Cause)
			require.Equal(t, d.Text, got.Reasons[i].Text)
			require.Equal(t, d.Count, got.Reasons[i].Count)
			require.WithinDuration(t, d.Since, got.Reasons[i].Since, time.Millisecond)
			require.InDelta(t, d.Age.Seconds(), got.Reasons[i].Age, 0.001)
		}
		require.Regexp(t, `"age_seconds":[0-9]+(\.[0-9]{1,3})?,`, bodyOf(t, probed(c, http.MethodGet, "")))
		c.Close()
		require.Equal(t, http.StatusServiceUnavailable, probed(c, http.MethodGet, "?live").StatusCode)
		require.Equal(t, http.StatusServiceUnavailable, probed(c, http.MethodGet, "").StatusCode)
	})
}

func TestHealthzRefusesWhatItDoesNotUnderstand(t *testing.T) {
	c, err := rcconsumer.New(kgo.SeedBrokers("127.0.0.1:1"))
	require.NoError(t, err)
	defer c.Close()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		r := probed(c, method, "")
		require.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
		require.Equal(t, "GET, HEAD", r.Header.Get("Allow"))
		require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
	}
	r := probed(c, http.MethodGet, "?live=perhaps")
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	require.Equal(t, "live=\"perhaps\": must be a boolean\n", bodyOf(t, r))

	get, head := probed(c, http.MethodGet, ""), probed(c, http.MethodHead, "")
	require.Equal(t, get.StatusCode, head.StatusCode)
	require.Equal(t, get.Header.Get("Content-Type"), head.Header.Get("Content-Type"))
	require.Positive(t, len(bodyOf(t, get)))
	require.Empty(t, bodyOf(t, head))
}
