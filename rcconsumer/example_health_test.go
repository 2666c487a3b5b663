package rcconsumer_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// Give Kubernetes something to probe: readiness at /healthz, liveness at
// /healthz?live=1.
func ExampleConsumer_Healthz() {
	brokers, stop := sampleCluster(context.Background())
	defer stop()
	consumer, err := rcconsumer.New(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("orders"))
	if err != nil {
		log.Fatal(err)
	}
	defer consumer.Close()
	mux := http.NewServeMux()
	mux.Handle("/healthz", consumer.Healthz())

	for !consumer.Health().Ready {
		time.Sleep(time.Millisecond)
	}
	probe := func(target string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, target, nil))
		return answer
	}
	fmt.Print(probe("/healthz").Body)
	fmt.Println("ready", probe("/healthz").Code, "live", probe("/healthz?live=1").Code)
	consumer.Close()
	fmt.Println("ready", probe("/healthz").Code, "live", probe("/healthz?live=1").Code)
	// Output:
	// {"schema":"readcommitted.health/1","ready":true,"live":true,"reasons":[]}
	// ready 200 live 200
	// ready 503 live 503
}
